import type { DifferenceName } from './differences.js';

/** A request, and how its outcome differs from grpc-gateway's: undefined if both are alike. */
export interface Row {
  readonly request: RawRequest;
  readonly strict: DifferenceName | undefined;
  readonly lenient: DifferenceName | undefined;
}

/** Rows with the given differences: without the option `lenient`, and with it. */
export function rows(
  strict: DifferenceName | undefined,
  lenient: DifferenceName | undefined,
  requests: readonly RawRequest[],
): Row[] {
  return requests.map((request) => ({ request, strict, lenient }));
}

/** Requests whose outcome is the same as grpc-gateway's, with and without `lenient`. */
export function alike(...requests: readonly RawRequest[]): Row[] {
  return rows(undefined, undefined, requests);
}

/** Requests whose outcome differs, with and without `lenient`. */
export function differ(difference: DifferenceName, ...requests: readonly RawRequest[]): Row[] {
  return rows(difference, difference, requests);
}

/** Requests whose outcome is the same only with `lenient`. */
export function alikeIfLenient(difference: DifferenceName, ...requests: readonly RawRequest[]): Row[] {
  return rows(difference, undefined, requests);
}

/** Requests whose outcome differs only with `lenient`. */
export function differIfLenient(difference: DifferenceName, ...requests: readonly RawRequest[]): Row[] {
  return rows(undefined, difference, requests);
}

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
