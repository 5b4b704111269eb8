import type { Logger } from 'pino';
import { isLoopback, splitAddress } from '../settings/addresses.js';
import type { Config } from '../settings/config.js';
import { unknownSettings } from '../settings/unknown-settings.js';
import { unsupportedTraceVariables } from '../settings/traces.js';

/** Logs what an operator should know before the service starts. */
export function warnAtStart({ grpc, traces }: Config, env: NodeJS.ProcessEnv, logger: Logger): void {
  if (grpc?.database.engine === 'mysql' && grpc.database.exposed)
    logger.warn(
      'no TLS to the database: anybody on the network path can read everything and obtain the password',
    );
  if (grpc !== undefined && isExposed(grpc.address) && (abortsAtPing() || abortsAfterSessionError()))
    logger.warn(
      { node: process.versions.node, nghttp2: process.versions['nghttp2'] },
      'anybody who reaches the gRPC port can abort this process through a fault in the HTTP/2 of this Node: use 24.21, 26.10 or later',
    );
  const settings = unknownSettings(env);
  if (settings.length > 0) logger.warn({ settings }, 'variables that look like settings have no effect');
  const variables = traces ? unsupportedTraceVariables(env) : [];
  if (variables.length > 0)
    logger.warn(
      { variables },
      'spans are sent over HTTP in protobuf with W3C Trace Context, whatever these variables say',
    );
}

/** Whether another machine may reach a server on this address. */
function isExposed(grpcAddress: string): boolean {
  const tcp = splitAddress(grpcAddress);
  return tcp !== undefined && !isLoopback(tcp.host);
}

/** Versions as in `process.versions`. */
type Versions = Readonly<Record<string, string | undefined>>;

/** From nghttp2 1.69 on, a PING of the wrong length after GOAWAY and HEADERS ends the connection, not the process. */
const PING_FIXED_MINOR = 69;
/** Node releases in which the fault of `abortsAfterSessionError` was found; 24.21 and 26.10 do not have it. */
const SESSION_ERROR_ABORTS = /^(22\.23\.3|26\.[89]\.\d+)$/;

/**
 * Whether a client can abort the process with GOAWAY, HEADERS and a PING of the wrong length (nghttp2 pull request
 * 2509).
 */
export function abortsAtPing({ nghttp2 = '' }: Versions = process.versions): boolean {
  const [major, minor = 0] = nghttp2.split('.').map(Number);
  return major === 1 && minor < PING_FIXED_MINOR;
}

/**
 * Whether a client can abort the process with a request after a frame on which Node destroys the session while nghttp2
 * goes on: a GOAWAY that reports an error, or a PING with ACK that answers none (Node issue 64850).
 */
export function abortsAfterSessionError({ node = '' }: Versions = process.versions): boolean {
  return SESSION_ERROR_ABORTS.test(node);
}
