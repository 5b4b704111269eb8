import type { Logger } from 'pino';
import type { CallLog } from '../calls/call-log.js';
import type { Closing } from './closing.js';
import type { FollowedTls } from '../edge/followed-tls.js';
import type { Config } from '../settings/config.js';
import type { Tracing } from '../watch/tracing/tracing.js';
import type { Operations } from './operations.js';

/** The dependencies that are injected into the service. */
export interface Dependencies {
  readonly logger: Logger;
  /** Milliseconds since the epoch; default: the system's clock. */
  readonly now?: () => number;
  /** Generates a UUIDv7 for the given time; default: a random one. */
  readonly newId?: (nowMs: number) => string;
  /** Aborts a start that is waiting for the database. */
  readonly stop?: AbortSignal;
  /** The pause after each check of the database and of the upstream, in milliseconds; default: 2,000. */
  readonly checkMs?: number;
  /** The time limit of such a check, in milliseconds; default: 2,000. */
  readonly checkLimitMs?: number;
  /** How often key files and TLS files are reread, in milliseconds; default: 10,000. */
  readonly fileCheckMs?: number;
}

/** The parts that the gRPC server and the REST gateway share. */
export interface SharedParts extends Dependencies {
  readonly config: Config;
  readonly closing: Closing;
  readonly callLog: CallLog;
  readonly operations: Operations;
  /** The certificate of the gRPC and HTTP servers; absent without TLS. */
  readonly tls: FollowedTls | undefined;
  /** Absent when tracing is off. */
  readonly tracing: Tracing | undefined;
}
