/** The path and the query of a request target (RFC 9112 3.2), as sent. */
interface RequestTarget {
  readonly path: string;
  /** The text after the first question mark; empty for none. */
  readonly query: string;
}

const AUTHORITY = /^https?:\/\/[^/?#]*/i;

/** Splits a request target. The authority of an absolute target, which every server must accept, is dropped. */
export function requestTarget(target: string): RequestTarget {
  const local = target.replace(AUTHORITY, '');
  const mark = local.indexOf('?');
  return mark < 0 ? { path: local, query: '' } : { path: local.slice(0, mark), query: local.slice(mark + 1) };
}
