/** A request as its bytes: HTTP/1.1 on a connection of its own. */
export type RawRequest = string;

/** A request without a body. */
export function get(path: string, headers: Readonly<Record<string, string>> = {}): RawRequest {
  return send('GET', path, undefined, headers);
}

/**
 * Any request.
 *
 * @param headers in the place of the default, which is `Content-Type: application/json` with a body; an empty value
 *   leaves it out.
 */
export function send(
  verb: string,
  path: string,
  body?: string,
  headers: Readonly<Record<string, string>> = {},
): RawRequest {
  const framing =
    body === undefined
      ? {}
      : { 'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(body)) };
  const lines = Object.entries({ Host: 'localhost', Connection: 'close', ...framing, ...headers })
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `${name}: ${value}\r\n`);
  return `${verb} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body ?? ''}`;
}
