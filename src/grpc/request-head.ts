import type { IncomingHttpHeaders } from 'node:http2';
import { READ_KEYS } from '../calls/metadata-keys.js';
import { HEAD_MAX_BYTES } from '../listeners/head-limit.js';

/** What each header counts beyond its name and value (RFC 9113, section 6.5.2). */
const HEADER_BYTES = 32;

/** The headers that grpc-js and the service read. */
const READ: ReadonlySet<string> = new Set([
  ':path',
  'content-type',
  'grpc-encoding',
  'grpc-timeout',
  ...READ_KEYS,
]);

/**
 * Whether the headers of a call are too long, as SETTINGS_MAX_HEADER_LIST_SIZE counts them. Node itself refuses them only
 * when the client has acknowledged that setting, and a few bytes of HPACK expand to half a megabyte.
 *
 * @param rawHeaders names and values in turn
 */
export function isTooLong(rawHeaders: readonly string[]): boolean {
  let bytes = (rawHeaders.length / 2) * HEADER_BYTES;
  for (const text of rawHeaders) bytes += text.length;
  return bytes > HEAD_MAX_BYTES;
}

/**
 * Deletes the headers that nobody reads. grpc-js would copy each into a call's metadata, and only that copy makes the
 * values of a repeated header, which refer to one text, as long as they claim to be.
 */
export function dropUnread(headers: IncomingHttpHeaders): void {
  for (const name in headers) if (!READ.has(name)) Reflect.deleteProperty(headers, name);
}
