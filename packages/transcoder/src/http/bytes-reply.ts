import type { HttpReply } from '../http-reply.js';
import { httpBodyIn } from '../message/http-body.js';
import type { Binding } from '../template/binding.js';
import type { StreamFormat } from './stream-format.js';

// RFC 9110 8.3.1; parameters may contain any printable ASCII character.
const MEDIA_TYPE = /^[\w!#$%&'*+\-.^`|~]+\/[\w!#$%&'*+\-.^`|~]+[ \t]*(?:;[\t\x20-\x7e]*)?$/;

/** Otherwise browsers would guess another media type. */
const HEADERS = { 'X-Content-Type-Options': 'nosniff' };

function mediaType(contentType: string): string {
  return MEDIA_TYPE.test(contentType) ? contentType : 'application/octet-stream';
}

/** The response for a `google.api.HttpBody`. @throws Error if the message cannot be decoded */
export function bytesReply(binding: Binding, message: Uint8Array): HttpReply {
  const { contentType, data } = httpBodyIn(binding, message);
  return { status: 200, headers: HEADERS, contentType: mediaType(contentType), body: data };
}

/** The format of a stream of `google.api.HttpBody`. The first message sets the media type of the whole response. */
export function bytesFormat(binding: Binding): StreamFormat {
  let type: string | undefined;
  return {
    get contentType() {
      return type ?? mediaType('');
    },
    headers: HEADERS,
    message: (message) => {
      const { contentType, data } = httpBodyIn(binding, message);
      type ??= mediaType(contentType);
      return data;
    },
    failure: () => undefined,
    end: undefined,
    pulse: undefined,
  };
}
