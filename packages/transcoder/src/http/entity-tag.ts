import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { Failure } from '../failures/failure.js';

/** A strong entity tag (RFC 9110 8.8.3) of a body: the first 162 bits of its SHA-256. */
export function entityTag(body: string | Uint8Array): string {
  return `"${hash('sha256', body, 'base64url').slice(0, 27)}"`;
}

/**
 * Whether the client of a GET or HEAD already has the representation with the tag, according to `If-None-Match`, which
 * is evaluated after `If-Match` (RFC 9110 13.2.2).
 *
 * @throws Failure `PRECONDITION_FAILED` if `If-Match` does not match the tag.
 */
export function isCurrent(headers: IncomingHttpHeaders, tag: string): boolean {
  const { 'if-match': wanted, 'if-none-match': known } = headers;
  if (wanted !== undefined && !names(wanted, tag, 'strong')) throw preconditionFailed();
  return known !== undefined && names(known, tag, 'weak');
}

/**
 * `If-Match` does not match the current representation, or there is none because the resource is about to be created.
 */
export function preconditionFailed(): Failure {
  return new Failure(
    'PRECONDITION_FAILED',
    'No current representation matches If-Match; a read may name its entity tag or *, a create has none yet.',
  );
}

const TAG = /(W\/)?("[\x21\x23-\x7e\x80-\xff]*")/g;

/** Whether a list of entity tags names the tag, by the given comparison (RFC 9110 8.8.3.2). */
function names(list: string, tag: string, comparison: 'strong' | 'weak'): boolean {
  if (list.trim() === '*') return true;
  return [...list.matchAll(TAG)].some(
    ([, weak, opaque]) => opaque === tag && (weak === undefined || comparison === 'weak'),
  );
}
