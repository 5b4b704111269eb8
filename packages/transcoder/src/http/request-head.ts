import type { IncomingMessage } from 'node:http';
import { Failure, malformed } from '../failures/failure.js';
import { quoted } from '../fields/allowed-value.js';
import { headerValues } from './request-headers.js';

/** The longest request target, in bytes. */
const TARGET_MAX_BYTES = 8_192;

const MALFORMED = 'The request has an invalid header.';

/**
 * Refuses a request that violates HTTP but passes Node's parser.
 *
 * @param target the request target as sent.
 * @throws Failure `REQUEST_MALFORMED`, `TARGET_TOO_LONG`, or `TRANSFER_CODING_UNSUPPORTED`.
 */
export function requireWellFormedHead(request: IncomingMessage, target: string): void {
  // First, since this refusal ends the connection.
  requireTransferCoding(request);
  if (request.httpVersionMajor !== 1) {
    throw malformed(`The request uses HTTP/${request.httpVersion}; HTTP/1.1 and HTTP/1.0 are allowed.`);
  }
  requireTarget(target);
  requireHost(request);
}

/** RFC 9110 4.1 recommends a limit of at least 8,000 bytes. */
function requireTarget(target: string): void {
  if (target.length > TARGET_MAX_BYTES) throw targetTooLong();
  // RFC 9112 3.2: no form of a request target has a fragment, and some routers remove it.
  if (target.includes('#')) {
    throw malformed('The request target has a fragment; a path and a query are allowed.');
  }
}

/** The request target exceeds the limit, which is lower than that of Node's parser. */
export function targetTooLong(): Failure {
  return new Failure('TARGET_TOO_LONG', `The request target is longer than ${TARGET_MAX_BYTES} bytes.`);
}

// RFC 9110 7.2 and RFC 3986 3.2.2; an empty host means a target without authority.
const HOST =
  /^(?:\[[0-9a-f:.]+\]|\[v[0-9a-f]+\.[\w\-.~!$&'()*+,;=:]+\]|(?:[\w\-.~!$&'()*+,;=]|%[0-9a-f]{2})*)(?::[0-9]*)?$/i;

/** RFC 9112 3.2: one well-formed `Host`, which only HTTP/1.0 may omit. */
function requireHost(request: IncomingMessage): void {
  const hosts = headerValues(request, 'host');
  if (hosts.length === 0) {
    if (request.httpVersionMinor === 0) return;
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
function requireTransferCoding({ headers, httpVersionMinor }: IncomingMessage): void {
  const list = headers['transfer-encoding'];
  if (list === undefined) return;
  const codings = list
    .split(',')
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== '');
  if (codings.at(-1) !== 'chunked' || httpVersionMinor === 0) throw framingUnclear();
  if (codings.length > 1) throw transferCodingUnsupported();
}

const UNCLEAR = 'a body without a clear end';

/** The end of the body is unknown, so the connection cannot be reused. */
export function framingUnclear(): Failure {
  return malformedHeader(
    'transfer-encoding',
    `Must be chunked, with HTTP/1.1 and without Content-Length; got ${UNCLEAR}.`,
    { Connection: 'close' },
  );
}

/** Node's parser ends the connection of such a request. */
export function lengthUnclear(): Failure {
  return malformedHeader(
    'content-length',
    `Must be one decimal number, without Transfer-Encoding; got ${UNCLEAR}.`,
  );
}

/** The body has a transfer coding other than `chunked`. */
export function transferCodingUnsupported(): Failure {
  return new Failure(
    'TRANSFER_CODING_UNSUPPORTED',
    'The transfer coding is not supported; only chunked is allowed.',
  );
}

function malformedHeader(
  field: string,
  description: string,
  headers: Readonly<Record<string, string>> = {},
): Failure {
  return new Failure('REQUEST_MALFORMED', MALFORMED, { violations: [{ field, description }], headers });
}
