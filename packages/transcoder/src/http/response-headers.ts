import { type ServerResponse, validateHeaderName } from 'node:http';
import type { UnaryReply } from '../upstream.js';

/** The metadata of replies to send as response headers: the name of a header by its lower-case metadata key. */
export type ResponseHeaders = ReadonlyMap<string, string>;

/** The headers that Node writes or interprets, and those that the transcoder writes. */
const TAKEN: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'date',
  'keep-alive',
  'trailer',
  'transfer-encoding',
  'accept-encoding',
  'accept-patch',
  'accept-post',
  'allow',
  'cache-control',
  'content-type',
  'etag',
  'location',
  'retry-after',
  'vary',
  'www-authenticate',
  'x-request-id',
]);

/** @throws Error with a one-sentence message if a name is invalid, or is that of a header that metadata must not set */
export function requireFreeHeaders(headers: ResponseHeaders): void {
  for (const name of headers.values()) {
    try {
      validateHeaderName(name);
    } catch (error) {
      throw new Error(`"${name}" is not the name of a header.`, { cause: error });
    }
    if (TAKEN.has(name.toLowerCase())) {
      throw new Error(`The header "${name}" is written by the transcoder or by Node, and not from metadata.`);
    }
  }
}

// Node throws for any other character, such as CR and LF.
const FIT = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * Adds the metadata of a reply to the response headers, one line for each value, and keeps what middleware has set.
 * Values that a header cannot carry are left out, such as the bytes of a key that ends in `-bin`.
 */
export function addHeaders(
  response: ServerResponse,
  headers: ResponseHeaders,
  { initialMetadata, trailers }: UnaryReply,
): void {
  for (const [key, name] of headers) {
    for (const value of [...(initialMetadata?.get(key) ?? []), ...(trailers?.get(key) ?? [])]) {
      if (typeof value === 'string' && FIT.test(value)) response.appendHeader(name, value);
    }
  }
}
