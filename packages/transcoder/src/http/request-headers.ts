import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { malformed } from '../failures/failure.js';
import { quoted } from '../fields/allowed-value.js';
import type { CallMetadata } from '../upstream.js';

/** What to do with a forwarded header with characters other than printable ASCII, which gRPC metadata cannot carry. */
export type UnfitValue =
  /** Each such character becomes `?`. */
  | 'mask'
  /** The request is refused with `REQUEST_MALFORMED`. */
  | 'refuse'
  /** The header is omitted. */
  | 'drop';

/** The request headers to forward as metadata of the call, by lower-case name. No other header is forwarded. */
export type ForwardedHeaders = ReadonlyMap<string, UnfitValue>;

export const FORWARDED_HEADERS: ForwardedHeaders = new Map([
  // A masked credential is still present, so the server refuses it as invalid, not as missing.
  ['authorization', 'mask'],
  // W3C Trace Context: an invalid value is ignored.
  ['traceparent', 'drop'],
  ['tracestate', 'drop'],
]);

/**
 * @throws Error with a one-sentence message if a name is not in lower case, as metadata keys are, or ends in `-bin`.
 */
export function requireTextKeys(forwarded: ForwardedHeaders): void {
  for (const name of forwarded.keys()) {
    if (name !== name.toLowerCase()) throw new Error(`The forwarded header "${name}" must be in lower case.`);
    if (name.endsWith('-bin')) {
      throw new Error(
        `The forwarded header "${name}" would be metadata of bytes; only text can be forwarded.`,
      );
    }
  }
}

/** Header lines as sent: alternating names and values. */
type SentHeaders = Pick<IncomingMessage, 'rawHeaders'>;

/**
 * The values of a header, one for each of its lines. Node's `headersDistinct` throws in releases such as 22.12 when a
 * client sends a header named `constructor`.
 *
 * @param name in lower case.
 */
export function headerValues({ rawHeaders }: SentHeaders, name: string): string[] {
  return rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === name);
}

const MALFORMED = 'The request has an invalid header.';

const NONE: CallMetadata = new Map();

const UNFIT = /[^\x20-\x7e]/g;

/**
 * The metadata for a request's headers. Several values of one header are joined, as in RFC 9110 5.2, so two credentials
 * form an invalid one, which the server refuses.
 *
 * @param observed metadata from observers, which replaces values from the headers. Default: none.
 */
export function callMetadata(
  request: SentHeaders,
  requestId: string,
  forwarded: ForwardedHeaders,
  observed: CallMetadata = NONE,
): CallMetadata {
  const metadata = new Map([['x-request-id', requestId]]);
  for (const [name, unfit] of forwarded) {
    const values = headerValues(request, name);
    if (values.length === 0) continue;
    const value = values.join(', ');
    const masked = value.replace(UNFIT, '?');
    if (masked === value || unfit === 'mask') metadata.set(name, masked);
  }
  for (const [key, value] of observed) metadata.set(key, value);
  return metadata;
}

/**
 * Refuses a request with a header that metadata cannot carry and that must not be masked or dropped.
 *
 * @throws Failure `REQUEST_MALFORMED`.
 */
export function requireFitHeaders(headers: IncomingHttpHeaders, forwarded: ForwardedHeaders): void {
  for (const [name, unfit] of forwarded) {
    const value = headers[name];
    if (unfit === 'refuse' && typeof value === 'string' && value.search(UNFIT) >= 0) {
      throw malformed(MALFORMED, [
        { field: name, description: 'Must be printable ASCII characters; got others.' },
      ]);
    }
  }
}

const SECONDS_ABOVE_ZERO = /^(?=.*[1-9])[0-9]+(?:\.[0-9]+)?$/;

/**
 * The client's time limit, in milliseconds, from the header `Request-Timeout: <seconds>`.
 *
 * @param limitMs the default, which the client cannot exceed.
 * @param lenient whether the header `Grpc-Timeout` may also set one; the shorter applies.
 * @throws Failure `REQUEST_MALFORMED` if a header is not a time above zero.
 */
export function requestTimeoutMs(headers: IncomingHttpHeaders, limitMs: number, lenient: boolean): number {
  const ownMs = ownTimeoutMs(headers, limitMs);
  return lenient ? grpcTimeoutMs(headers, ownMs) : ownMs;
}

function ownTimeoutMs(headers: IncomingHttpHeaders, limitMs: number): number {
  const text = headers['request-timeout'];
  if (text === undefined) return limitMs;
  if (typeof text !== 'string' || !SECONDS_ABOVE_ZERO.test(text)) {
    throw malformed(MALFORMED, [
      {
        field: 'request-timeout',
        description: `Must be a decimal number of seconds above zero; got ${quoted(String(text))}.`,
      },
    ]);
  }
  return Math.min(Number(text) * 1000, limitMs);
}

const GRPC_TIMEOUT = /^(?=.*[1-9])(?<amount>[0-9]{1,8})(?<unit>[HMSmun])$/;

const UNITS_MS: ReadonlyMap<string | undefined, number> = new Map([
  ['H', 3_600_000],
  ['M', 60_000],
  ['S', 1_000],
  ['m', 1],
  ['u', 1e-3],
  ['n', 1e-6],
]);

/** gRPC's own header (PROTOCOL-HTTP2.md): up to eight digits and a unit. */
function grpcTimeoutMs({ 'grpc-timeout': text }: IncomingHttpHeaders, limitMs: number): number {
  if (text === undefined) return limitMs;
  const { amount, unit } = GRPC_TIMEOUT.exec(String(text))?.groups ?? {};
  const unitMs = UNITS_MS.get(unit);
  if (unitMs === undefined) {
    throw malformed(MALFORMED, [
      {
        field: 'grpc-timeout',
        description: `Must be one to eight digits above zero and a unit (H, M, S, m, u or n); got ${quoted(String(text))}.`,
      },
    ]);
  }
  return Math.min(Number(amount) * unitMs, limitMs);
}
