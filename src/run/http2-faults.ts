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
