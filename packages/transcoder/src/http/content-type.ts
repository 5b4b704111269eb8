import { HttpFailure } from '../failures/failure.js';
import { bytesReadBefore } from './body.js';
import type { Exchange } from './exchange.js';
import { hasBody } from './head.js';
import { TOKEN } from './token.js';

/**
 * Refuses a body with a content coding, unless middleware has already decoded it.
 *
 * @throws HttpFailure `CONTENT_TYPE_UNSUPPORTED`
 */
export function requireDecoded({ request, verb }: Exchange): void {
  const { headers } = request;
  const coding = headers['content-encoding']?.toLowerCase() ?? 'identity';
  if (coding === 'identity' || !hasBody(headers) || bytesReadBefore(request) !== undefined) return;
  const message = 'The content encoding is not supported; only identity is allowed.';
  // RFC 9110 12.5.3: a response that refuses a coding names the accepted ones.
  throw unsupportedContent(verb, message, { 'Accept-Encoding': 'identity' });
}

// RFC 9110 5.6.2 to 5.6.6: parameters may be empty, and spaces may surround semicolons; a value is a token or a quoted
// string.
const SPACES = /[ \t]*/.source;
const QUOTED_STRING = /"(?:[^"\\]|\\.)*"/.source;
const CHARSET = 'charset=(?:utf-8|"utf-8")';
/** RFC 8259 defines no parameters, so all but the charset are ignored. */
const IGNORED_PARAMETER = `(?!charset=)${TOKEN}=(?:${TOKEN}|${QUOTED_STRING})`;
const PARAMETER = `${SPACES}(?:${CHARSET}|${IGNORED_PARAMETER})`;
const JSON_TYPE = new RegExp(`^application/json(?:${SPACES};(?:${PARAMETER})?)*${SPACES}$`, 'i');

/** Whether the media type of a body is `application/json`, with or without `charset=utf-8`. */
export function isJsonType({ sent }: Exchange): boolean {
  // The comma keeps a repeated header from matching.
  return JSON_TYPE.test(sent.get('content-type')?.join(', ') ?? '');
}

/** Refuses a body whose media type is not that of `isJsonType`. @throws HttpFailure `CONTENT_TYPE_UNSUPPORTED` */
export function requireJsonType(exchange: Exchange): void {
  if (isJsonType(exchange)) return;
  const message = 'The content type is not supported; application/json in UTF-8 is allowed.';
  throw unsupportedContent(exchange.verb, message);
}

/** The failure for a body whose media type or coding is not supported. @param verb the HTTP method of the request */
function unsupportedContent(
  verb: string,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): HttpFailure {
  // RFC 5789 3.1 defines the header for PATCH, and W3C Linked Data Platform 7.1 that for POST. Other methods have none of
  // their own, and get that for POST.
  const accepted = verb === 'PATCH' ? 'Accept-Patch' : 'Accept-Post';
  return new HttpFailure('CONTENT_TYPE_UNSUPPORTED', message, {
    headers: { [accepted]: 'application/json', ...headers },
  });
}
