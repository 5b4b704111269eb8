import type { IncomingHttpHeaders } from 'node:http';
import type { HttpFailure } from '../failures/failure.js';
import { quote } from '../fields/allowed-value.js';
import { readGrpcTimeout } from '../timeouts.js';
import { malformedHeader } from './head.js';

/** A decimal number with a digit other than 0. */
const SECONDS_ABOVE_ZERO = /^(?=.*[1-9])[0-9]+(?:\.[0-9]+)?$/;

/**
 * The client's time limit, in milliseconds, from the header `Request-Timeout: <seconds>`; `Infinity` for none.
 *
 * @param lenient whether the header `Grpc-Timeout` may also set a time limit; the shorter applies.
 * @throws HttpFailure `REQUEST_MALFORMED` if a header is not a time above zero.
 */
export function requestTimeoutMs(headers: IncomingHttpHeaders, lenient: boolean): number {
  const requestMs = secondsInMs(headers['request-timeout']);
  const grpcMs = lenient ? grpcTimeoutMs(headers['grpc-timeout']) : Infinity;
  return Math.min(requestMs, grpcMs);
}

/** The time in `Request-Timeout`. */
function secondsInMs(text: string | readonly string[] | undefined): number {
  if (text === undefined) return Infinity;
  if (typeof text === 'string' && SECONDS_ABOVE_ZERO.test(text)) return Number(text) * 1_000;
  throw malformedTimeout('request-timeout', 'a decimal number of seconds above zero', text);
}

/** The time in `Grpc-Timeout`. */
function grpcTimeoutMs(text: string | readonly string[] | undefined): number {
  if (text === undefined) return Infinity;
  const ms = readGrpcTimeout(String(text));
  if (ms !== undefined) return ms;
  const allowed = 'one to eight digits above zero and a unit (H, M, S, m, u or n)';
  throw malformedTimeout('grpc-timeout', allowed, text);
}

function malformedTimeout(header: string, allowed: string, got: string | readonly string[]): HttpFailure {
  return malformedHeader(header, `Must be ${allowed}; got ${quote(String(got))}.`);
}
