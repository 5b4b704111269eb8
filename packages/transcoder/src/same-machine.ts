import type { IncomingMessage } from 'node:http';

const LOOPBACK = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/i;

/**
 * Whether a request is for this machine by name, and not from a page of another origin. Pages that a developer visits
 * could otherwise send requests to a server on loopback, and read responses under a name that resolves to 127.0.0.1.
 */
export function isForThisMachine({ headers: { host, origin } }: IncomingMessage): boolean {
  // Every browser names a host.
  if (host === undefined) return true;
  return LOOPBACK.test(host) && (origin === undefined || origin === `http://${host}`);
}
