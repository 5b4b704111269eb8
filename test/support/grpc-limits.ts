import type { GrpcLimits } from '../../src/grpc/limits.js';
import { readConfig } from '../../src/settings/config.js';

/** The default limits of the service, with a deadline that no test reaches. */
export const LIMITS: GrpcLimits = { ...readConfig({}).limits, deadlineMs: 60_000 };
