/** The text of an HTTP/1.1 request, which is sent on a connection of its own. */
export type RawRequest = string;

/** A request without a body. */
export function get(path: string, headers: Readonly<Record<string, string>> = {}): RawRequest {
  return send('GET', path, undefined, headers);
}

/**
 * A request with any method, headers and body.
 *
 * @param headers override the defaults, among them `Content-Type: application/json` with a body. An empty value omits a
 *   header.
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
