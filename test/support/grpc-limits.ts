import { type Limits, readConfig } from '../../src/settings/config.js';

/** The default limits of the service, with a deadline that no test reaches. */
export const LIMITS: Limits = { ...readConfig({}).limits, deadlineMs: 60_000 };
