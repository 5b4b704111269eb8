import type { SettingsReader } from './settings.js';

/** The longest time that any setting accepts, in milliseconds: a day. */
const LONGEST_MS = 86_400_000;
/** The longest time that may be set for one call, in milliseconds. */
const DEADLINE_MAX_MS = 600_000;
/** The most connections, streams or calls that any setting accepts. */
const MOST = 1_000_000;
const MESSAGE_MAX_BYTES = 16_777_216;

/** The limits on all incoming traffic. None of them can be turned off, except the age of connections. */
export interface Limits {
  /** The time limit of one call, including the time to receive its body and to wait, in milliseconds. */
  readonly deadlineMs: number;
  /** The largest request message or body, in bytes, on the wire and decompressed. */
  readonly maxMessageBytes: number;
  /** Open connections of each server. */
  readonly maxConnections: number;
  /** Open streams of one gRPC connection. */
  readonly maxStreams: number;
  /** Unary calls in progress on all connections. */
  readonly maxCalls: number;
  /** Calls waiting for the database; one caller may have at most half of them. */
  readonly maxWaitingCalls: number;
  /** How long a gRPC connection without calls may stay silent, in milliseconds; pings keep it open. */
  readonly grpcIdleMs: number;
  /** The greatest age of a gRPC connection, in milliseconds; 0 for no limit. */
  readonly grpcMaxAgeMs: number;
  /** How long an HTTP connection may wait for its next request, in milliseconds. */
  readonly httpIdleMs: number;
}

/** Reads all limits; adds any problems to the reader. */
export function readLimits(settings: SettingsReader): Limits {
  return {
    deadlineMs: settings.integer('DEADLINE_MS', 1, DEADLINE_MAX_MS),
    maxMessageBytes: settings.integer('MAX_MESSAGE_BYTES', 1, MESSAGE_MAX_BYTES),
    maxConnections: settings.integer('MAX_CONNECTIONS', 1, MOST),
    maxStreams: settings.integer('MAX_STREAMS', 1, MOST),
    maxCalls: settings.integer('MAX_CALLS', 1, MOST),
    maxWaitingCalls: settings.integer('MAX_WAITING_CALLS', 2, MOST),
    grpcIdleMs: settings.integer('GRPC_IDLE_MS', 1_000, LONGEST_MS),
    grpcMaxAgeMs: settings.integer('GRPC_MAX_AGE_MS', 0, LONGEST_MS),
    httpIdleMs: settings.integer('HTTP_IDLE_MS', 1_000, LONGEST_MS),
  };
}
