import type { GrpcLimits } from '../../src/grpc/limits.js';

/** The defaults of the service, with a deadline that no test reaches. */
export const LIMITS: GrpcLimits = {
  deadlineMs: 60_000,
  maxMessageBytes: 65_536,
  maxCallPathBytes: 1_024,
  maxTrailerBytes: 3_584,
  maxConnections: 20_000,
  maxStreams: 128,
  maxStreamingCalls: 1_024,
  maxWaitingCalls: 2_048,
  grpcIdleMs: 300_000,
  grpcMaxAgeMs: 0,
};
