import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { HttpFailure, internal, malformed } from '../failures/failure.js';
import { quoted } from '../fields/allowed-value.js';
import { readGrpcTimeout } from '../timeouts.js';

/** The longest request target, in bytes; fewer than Node's parser takes. */
const TARGET_MAX_BYTES = 8_192;

const SERVES_HTTP1_ONLY =
  'The handler was called with a request of node:http2; it serves those of node:http and node:https. A proxy can offer HTTP/2 to clients.';

/**
 * Refuses a request that violates HTTP but passes Node's parser.
 *
 * @param target the request target as sent.
 * @throws HttpFailure `REQUEST_MALFORMED`, `TARGET_TOO_LONG`, or `TRANSFER_CODING_UNSUPPORTED`; `INTERNAL` for a
 *   request of a `node:http2` server.
 */
export function requireWellFormedHead(request: IncomingMessage, target: string, sent: SentHeaders): void {
  // First, since a body without a clear end has to end the connection, whatever else is wrong.
  requireTransferCoding(request);

  if (request.httpVersion !== '1.1' && request.httpVersion !== '1.0') {
    if ('stream' in request) throw internal(new Error(SERVES_HTTP1_ONLY));
    throw malformed(`The request uses HTTP/${request.httpVersion}; HTTP/1.1 and HTTP/1.0 are allowed.`);
  }

  requireTarget(target);
  requireHost(request, sent);
}

/** The scheme and the authority of an absolute target. */
const ABSOLUTE = /^https?:\/\/(?<authority>[^/?#]*)/i;

/** RFC 9110 4.1 recommends a limit of at least 8,000 bytes. */
function requireTarget(target: string): void {
  if (target.length > TARGET_MAX_BYTES)
    throw new HttpFailure('TARGET_TOO_LONG', `The request target is longer than ${TARGET_MAX_BYTES} bytes.`);
  // RFC 9112 3.2: no form of a request target has a fragment, and some routers remove it.
  if (target.includes('#')) {
    throw malformed('The request target has a fragment; a path and a query are allowed.');
  }
  const { authority } = ABSOLUTE.exec(target)?.groups ?? {};
  if (authority !== undefined && !isAuthority(authority)) {
    throw malformed('The request target has no valid host; a path and a query are enough.');
  }
}

/** RFC 9110 4.2.1 and 4.2.4: the authority has a host, and no user information. */
function isAuthority(text: string): boolean {
  const hasHost = !/^(?::|$)/.test(text);
  return hasHost && HOST.test(text);
}

// RFC 9110 7.2 and RFC 3986 3.2.2: an IPv6 or later address in brackets, or a name, and a port. The name may be empty,
// since that is the `Host` of a target without authority.
const HOST =
  /^(?:\[[0-9a-f:.]+\]|\[v[0-9a-f]+\.[\w\-.~!$&'()*+,;=:]+\]|(?:[\w\-.~!$&'()*+,;=]|%[0-9a-f]{2})*)(?::[0-9]*)?$/i;

/** RFC 9112 3.2: one well-formed `Host`, which only HTTP/1.0 may omit. */
function requireHost(request: IncomingMessage, sent: SentHeaders): void {
  const hosts = sent.get('host') ?? [];
  if (hosts.length === 0) {
    if (request.httpVersion === '1.0') return;
    throw malformedHeader('host', 'Must be given once; got none.');
  }
  if (hosts.length > 1) {
    throw malformedHeader('host', `Must be given once; got ${hosts.length} lines.`);
  }
  const host = String(hosts[0]);
  if (!HOST.test(host)) {
    throw malformedHeader(
      'host',
      `Must be a name or an address, with or without a port; got ${quoted(host)}.`,
    );
  }
}

/** RFC 9112 6.1 and 6.3: unless the coding ends in `chunked`, the end of the body is unknown. */
function requireTransferCoding({ headers, httpVersion }: IncomingMessage): void {
  const list = headers['transfer-encoding'];
  if (list === undefined) return;
  const codings = list
    .split(',')
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== '');

  if (codings.at(-1) !== 'chunked' || httpVersion === '1.0') throw framingUnclear();
  if (codings.length > 1)
    throw new HttpFailure(
      'TRANSFER_CODING_UNSUPPORTED',
      'The transfer coding is not supported; only chunked is allowed.',
    );
}

/** What a violation says was sent, for a body whose end is unknown. */
export const UNCLEAR = 'a body without a clear end';

/** The end of the body is unknown, so the connection cannot be reused. */
export function framingUnclear(): HttpFailure {
  return malformedHeader(
    'transfer-encoding',
    `Must be chunked, with HTTP/1.1 and without Content-Length; got ${UNCLEAR}.`,
    { Connection: 'close' },
  );
}

/** A header of the request is invalid. */
export function malformedHeader(
  field: string,
  description: string,
  headers: Readonly<Record<string, string>> = {},
): HttpFailure {
  const message = 'The request has an invalid header.';
  return new HttpFailure('REQUEST_MALFORMED', message, { violations: [{ field, description }], headers });
}

/** Whether a request has a body (RFC 9112 6.3), which may be empty. */
export function hasBody(headers: IncomingHttpHeaders): boolean {
  return 'content-length' in headers || 'transfer-encoding' in headers;
}

/** The values of headers by lower-case name, one for each line, as sent. */
export type SentHeaders = ReadonlyMap<string, readonly string[]>;

/**
 * Reads the headers with the given names in one pass: each line, unless the application has changed, set or deleted the
 * header in `headers`. Node's `headersDistinct` throws in releases such as 22.12 when a client sends a header named
 * `constructor`.
 */
export function sentHeaders(
  { rawHeaders, headers }: Pick<IncomingMessage, 'rawHeaders' | 'headers'>,
  names: { has(lowerCaseName: string): boolean },
): SentHeaders {
  const sent = linesByName(rawHeaders, names);
  let unchanged = 0;
  for (const name of Object.keys(headers)) {
    if (!names.has(name)) continue;
    const value = headers[name];
    const lines = sent.get(name);
    if (lines !== undefined && value === valueInNode(name, lines)) unchanged += 1;
    else sent.set(name, [value ?? []].flat().map(String));
  }

  if (unchanged < sent.size) removeDeleted(sent, headers);
  return sent;
}

function linesByName(
  rawHeaders: readonly string[],
  names: { has(lowerCaseName: string): boolean },
): Map<string, string[]> {
  const byName = new Map<string, string[]>();
  // Names and values take turns.
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = String(rawHeaders[at]).toLowerCase();
    if (!names.has(name)) continue;
    const value = String(rawHeaders[at + 1]);
    const lines = byName.get(name);
    if (lines === undefined) byName.set(name, [value]);
    else lines.push(value);
  }
  return byName;
}

/** The value that Node gives a header in `headers` for the lines that were sent. */
function valueInNode(name: string, lines: readonly string[]): string | undefined {
  return lines.length === 1 || FIRST_KEPT.has(name) ? lines[0] : lines.join(', ');
}

/** Removes the headers that the application has deleted, or set to undefined or to no values. */
function removeDeleted(sent: Map<string, readonly string[]>, headers: IncomingHttpHeaders): void {
  for (const [name, values] of sent)
    if (values.length === 0 || !Object.hasOwn(headers, name)) sent.delete(name);
}

/** The headers of which Node keeps the first line; it joins those of others. */
const FIRST_KEPT = new Set(
  `age authorization content-type etag expires from host if-modified-since if-unmodified-since last-modified
   location max-forwards proxy-authorization referer retry-after server user-agent`.split(/\s+/),
);

const SECONDS_ABOVE_ZERO = /^(?=.*[1-9])[0-9]+(?:\.[0-9]+)?$/;

/**
 * The client's time limit, in milliseconds, from the header `Request-Timeout: <seconds>`; `Infinity` for none.
 *
 * @param lenient whether the header `Grpc-Timeout` may also set one; the shorter applies.
 * @throws HttpFailure `REQUEST_MALFORMED` if a header is not a time above zero.
 */
export function requestTimeoutMs(headers: IncomingHttpHeaders, lenient: boolean): number {
  const requestMs = secondsInMs(headers['request-timeout']);
  const grpcMs = lenient ? grpcTimeoutMs(headers['grpc-timeout']) : Infinity;
  return Math.min(requestMs, grpcMs);
}

function secondsInMs(text: string | readonly string[] | undefined): number {
  if (text === undefined) return Infinity;
  if (typeof text === 'string' && SECONDS_ABOVE_ZERO.test(text)) return Number(text) * 1_000;
  throw malformedTimeout('request-timeout', 'a decimal number of seconds above zero', text);
}

function grpcTimeoutMs(text: string | readonly string[] | undefined): number {
  if (text === undefined) return Infinity;
  const ms = readGrpcTimeout(String(text));
  if (ms !== undefined) return ms;
  const allowed = 'one to eight digits above zero and a unit (H, M, S, m, u or n)';
  throw malformedTimeout('grpc-timeout', allowed, text);
}

function malformedTimeout(header: string, allowed: string, got: string | readonly string[]): HttpFailure {
  return malformedHeader(header, `Must be ${allowed}; got ${quoted(String(got))}.`);
}

/** A request target (RFC 9112 3.2). */
export interface RequestTarget {
  /** The whole target as sent, even if a router has removed its own prefix. */
  readonly url: string;
  readonly path: string;
  /** The text after the first question mark; empty for none. */
  readonly query: string;
}

type AnyRequest = Pick<IncomingMessage, 'url'> & { readonly originalUrl?: string };

/**
 * Splits the target of a request, which Express keeps in `originalUrl`, since it removes the path of mounted middleware
 * from `url`. The authority of an absolute target, which every server must accept, is dropped.
 */
export function requestTarget(request: AnyRequest): RequestTarget {
  const url = String(request.originalUrl ?? request.url);
  const local = url.startsWith('/') ? url : url.replace(ABSOLUTE, '');
  const mark = local.indexOf('?');
  return mark < 0
    ? { url, path: local, query: '' }
    : { url, path: local.slice(0, mark), query: local.slice(mark + 1) };
}

/** The headers exceed the limit of Node's parser. */
export function headersTooLarge(): HttpFailure {
  return new HttpFailure('HEADERS_TOO_LARGE', 'The headers are larger than the server accepts.');
}
