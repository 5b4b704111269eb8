import type { IncomingMessage } from 'node:http';

const LOOPBACK = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/i;

/**
 * Whether a request is for a loopback host name, and not from a page of another origin. Otherwise pages that a
 * developer visits could send requests to a server on loopback, and read its responses under a name that resolves to
 * 127.0.0.1.
 */
export function isForThisMachine({ headers: { host, origin } }: IncomingMessage): boolean {
  // Every browser sends `Host`.
  if (host === undefined) return true;
  return LOOPBACK.test(host) && (origin === undefined || origin === `http://${host}`);
}
