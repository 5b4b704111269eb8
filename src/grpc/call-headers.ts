import type { IncomingHttpHeaders } from 'node:http2';
import { AUTHORIZATION, IDEMPOTENCY_KEY, READ_KEYS } from '../calls/call.js';

/** The path to which calls of unregistered methods are redirected. */
export const UNKNOWN_METHOD = '/unknown.Service/Method';
/** The metadata key of the original path of such a call. */
export const UNKNOWN_PATH_KEY = 'x-unknown-path';
/** The metadata key of a unary call's timeout, in milliseconds. */
export const TIMEOUT_MS_KEY = 'x-timeout-ms';

/** How much of an unknown method's path is kept, in bytes. */
const PATH_MAX_BYTES = 1_024;
/** gRPC over HTTP/2: `application/grpc`, optionally with a format; `application/grpc-web` is another protocol. */
const CONTENT_TYPE = /^application\/grpc(?:[+;]|$)/;
/** The headers that grpc-js and the service read. */
const READ: ReadonlySet<string> = new Set([
  ':path',
  'content-type',
  'grpc-encoding',
  'grpc-timeout',
  ...READ_KEYS,
]);
/** gRPC over HTTP/2, `Timeout`. */
const TIMEOUT = /^(\d{1,8})([HMSmun])$/;
const UNITS_MS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1_000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};
/** Timeouts that grpc-js treats as passed, since it keeps them in 32 bits: from 25 days, in milliseconds. */
const LONG_TIMEOUT_MS = 2 ** 31;
/** Characters that metadata cannot carry. */
const UNFIT = /[^\x20-\x7e]/g;

/** Whether the headers are those of a gRPC call; grpc-js accepts every content type that begins like gRPC's. */
export function areOfCall(headers: IncomingHttpHeaders): boolean {
  return CONTENT_TYPE.test(headers['content-type'] ?? '');
}

/**
 * Changes the headers of a call before grpc-js reads them, wherever grpc-js would otherwise violate the contract.
 *
 * @param unary the paths of the unary methods
 * @param streaming the paths of the streaming methods
 */
export function prepareForGrpcJs(
  headers: IncomingHttpHeaders,
  unary: ReadonlySet<string>,
  streaming: { has(path: string): boolean },
): void {
  // First, since it would drop the headers that the others add.
  dropUnread(headers);
  const path = String(headers[':path']);
  if (streaming.has(path)) dropLongTimeout(headers);
  else {
    if (!unary.has(path)) redirectUnknown(headers, path);
    takeTimeout(headers);
  }
  maskUnfit(headers);
}

/**
 * Deletes the headers that nobody reads. The values of a repeated header share one string in memory, but each copy that
 * grpc-js makes for the metadata would take its full size.
 */
function dropUnread(headers: IncomingHttpHeaders): void {
  for (const name in headers) if (!READ.has(name)) Reflect.deleteProperty(headers, name);
}

/** grpc-js itself refuses a call of an unknown method, below all interceptors and without the contract's details. */
function redirectUnknown(headers: IncomingHttpHeaders, path: string): void {
  headers[':path'] = UNKNOWN_METHOD;
  headers[UNKNOWN_PATH_KEY] = beginningOf(path);
}

/**
 * Hides the timeout of a unary call from grpc-js, which would respond at the deadline without the contract's details,
 * and may count the timeout from before the call. An invalid timeout is left to grpc-js.
 */
function takeTimeout(headers: IncomingHttpHeaders): void {
  const timeoutMs = timeoutMsOf(headers);
  if (timeoutMs === undefined) return;
  delete headers['grpc-timeout'];
  headers[TIMEOUT_MS_KEY] = String(timeoutMs);
}

/** grpc-js could treat such a timeout as already passed. The client itself still enforces the timeout. */
function dropLongTimeout(headers: IncomingHttpHeaders): void {
  if ((timeoutMsOf(headers) ?? 0) >= LONG_TIMEOUT_MS) delete headers['grpc-timeout'];
}

/** Returns the call's timeout, in milliseconds; undefined if it is missing or invalid. */
function timeoutMsOf(headers: IncomingHttpHeaders): number | undefined {
  const [, digits, unit = ''] = TIMEOUT.exec(String(headers['grpc-timeout'])) ?? [];
  return digits === undefined ? undefined : Number(digits) * Number(UNITS_MS[unit]);
}

/** Copies, since a slice would keep the whole path in memory. Node reads headers as Latin-1, a byte per character. */
function beginningOf(path: string): string {
  if (path.length <= PATH_MAX_BYTES) return path;
  return Buffer.from(path, 'latin1').toString('latin1', 0, PATH_MAX_BYTES);
}

/**
 * grpc-js drops a value that is not printable ASCII: a token would be missing rather than invalid, and a repeated create
 * without its key would be stored twice. With such characters replaced, both are refused as invalid.
 */
function maskUnfit(headers: IncomingHttpHeaders): void {
  const { [AUTHORIZATION]: credential, [IDEMPOTENCY_KEY]: key } = headers;
  if (credential !== undefined) headers[AUTHORIZATION] = credential.replace(UNFIT, '?');
  if (typeof key === 'string') headers[IDEMPOTENCY_KEY] = key.replace(UNFIT, ' ');
}
