import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { HttpFailure, internal, malformed } from '../failures/failure.js';
import { quote } from '../fields/allowed-value.js';
import type { SentHeaders } from './sent-headers.js';

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
      `Must be a name or an address, with or without a port; got ${quote(host)}.`,
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
