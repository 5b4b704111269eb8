/** A deliberate difference from grpc-gateway, in the words of docs/from-grpc-gateway.md. */
interface Difference {
  readonly request: string;
  readonly theirs: string;
  readonly ours: string;
  /** The behaviour with the option `lenient`. Default: the same as without; the cell is empty. */
  readonly lenient?: string;
}

/** The rows of that page's table. `ours` follows HTTP, the AIPs, `http.proto` and ProtoJSON. */
export const DIFFERENCES = {
  verbs: {
    request: 'another method than those of a path; `OPTIONS`',
    theirs: '501',
    ours: '405; 204',
  },
  head: { request: '`HEAD` for a `GET`', theirs: '501', ours: 'as `GET`, without content' },
  override: {
    request: 'form bodies, `X-HTTP-Method-Override`',
    theirs: 'a form that overrides `POST` is its query',
    ours: '415, 405',
    lenient: 'a form is read as JSON, 405',
  },
  emptySegment: {
    request: 'an empty segment, or a slash at the end',
    theirs: 'an empty value, if a variable is there',
    ours: '404',
  },
  escapedSlash: {
    request: '`a%2Fb` in a path',
    theirs: '404, or two segments in `**`',
    ours: 'one segment with a slash; `%2F` in a variable of several segments',
  },
  escapes: {
    request: 'escapes in the words of a path, `%3A` before a verb; braces; a verb alone',
    theirs: 'unescaped before they are compared',
    ours: 'compared as sent; what RFC 3986 forbids is 400',
  },
  notUtf8: { request: 'escapes that are not UTF-8', theirs: '500', ours: '400' },
  unknownParameter: {
    request: 'unknown parameters of a query',
    theirs: 'ignored',
    ours: '400',
    lenient: 'ignored; `a.unknown` sets no empty `a`',
  },
  twoPlaces: {
    request: 'a field in path and query or body, or in body and query',
    theirs: 'the path, the body',
    ours: '400 if they differ, or if it is not a place for the field',
  },
  numbers: {
    request: 'numbers and booleans in path and query: `+5`, `007`, `0x10`, `.5`, `inf`, `1` or `T` for true',
    theirs: 'taken, but not `5.0` or `5e0`',
    ours: 'as in ProtoJSON, which has `5.0` and `5e0`',
  },
  openEnums: {
    request: 'a number that an enum does not name, in path and query',
    theirs: '400',
    ours: 'taken',
  },
  base64: {
    request: 'base64 in path and query',
    theirs: 'only with padding; URL-safe only in a path',
    ours: 'both alphabets, with and without padding',
  },
  semicolon: { request: 'a semicolon in a query', theirs: '400', ours: 'a character' },
  wellKnown: {
    request:
      '`Value`, `Struct` or a field of a well-known type in a query (`time.seconds=5`); `1m` for a duration',
    theirs: 'taken',
    ours: '400',
  },
  listIndex: {
    request: '`names[]=a`, `names[0]=a`',
    theirs: 'two values, `""` or `"0"` and `"a"`',
    ours: '400',
  },
  mapEntry: { request: '`labels[a]=b` for a map', theirs: 'taken', ours: '400', lenient: 'taken' },
  unknownField: {
    request: 'unknown fields and enum values in a body; an Any without a type',
    theirs: 'ignored',
    ours: '400; ignored with `json.ignoreUnknown`',
  },
  jsonForms: {
    request: 'the map key `01`, the duration `+1s`',
    theirs: 'taken',
    ours: '400',
  },
  trailingText: { request: 'text after the JSON of a body', theirs: 'ignored', ours: '400' },
  nullBody: {
    request: 'a body `null` for a field',
    theirs: '400',
    ours: 'the field is absent',
  },
  noBody: {
    request: 'no body where a message is the body',
    theirs: 'its empty message',
    ours: '400',
    lenient: 'its empty message',
  },
  noValue: {
    request: 'no body where another field is the body',
    theirs: 'the default of its type',
    ours: '400',
  },
  created: {
    request: 'a `Create` that succeeds',
    theirs: '200',
    ours: '201; 200 with `standardMethods: false`',
  },
  emptyBody: {
    request: '`{}` where a method takes no body',
    theirs: 'ignored',
    ours: '400',
    lenient: 'taken',
  },
  unwantedBody: { request: 'any other body where a method takes none', theirs: 'ignored', ours: '400' },
  patchType: {
    request: 'no content type, `application/merge-patch+json`',
    theirs: 'taken',
    ours: '415',
    lenient: 'taken',
  },
  contentType: {
    request: 'any other content type or charset; `Content-Encoding: gzip`',
    theirs: 'read as JSON',
    ours: '415',
    lenient: 'read as JSON; 415',
  },
  noMask: {
    request: 'a `PATCH` of a field without a mask',
    theirs: 'a mask of the fields sent',
    ours: 'as it came',
    lenient: 'a mask of the fields sent',
  },
  emptyMask: {
    request: 'a `PATCH` of a field with `{}`, or with an empty mask',
    theirs: 'a mask with the path `""`',
    ours: 'none',
  },
  structMask: {
    request: 'a `Struct` in the body of such a `PATCH`',
    theirs: 'its keys in the mask',
    ours: 'as it came',
    lenient: 'one field of the mask',
  },
  snakeMask: {
    request: 'snake case in a mask of a body (`display_name`)',
    theirs: '400',
    ours: '400',
    lenient: 'taken',
  },
  camelMask: {
    request: 'lowerCamelCase in a mask of a query, `*`, `a__b`',
    theirs: 'as it came',
    ours: '`displayName` is `display_name`; `*` stays; the last is 400',
  },
  timeout: {
    request: '`Grpc-Timeout`',
    theirs: 'read',
    ours: 'ignored; `Request-Timeout` is read',
    lenient: 'the shorter of both holds',
  },
  wrongTimeout: {
    request: '`Grpc-Timeout` of zero, below zero or of more than 8 digits',
    theirs: 'no limit, or 504',
    ours: 'ignored',
    lenient: '400',
  },
  metadata: {
    request: '`Grpc-Metadata-*`, `traceparent`',
    theirs: 'only the first is forwarded',
    ours: 'the headers in `forwardedHeaders`',
  },
} as const satisfies Record<string, Difference>;

export type DifferenceName = keyof typeof DIFFERENCES;

/** A difference as a row of that page's table. */
export function rowOf({ request, theirs, ours, lenient = '' }: Difference): string {
  return `| ${request} | ${theirs} | ${ours} | ${lenient} |`;
}
