import type { HttpFailure } from '../failures/failure.js';
import { headersTooLarge, malformedHeader } from '../http/head.js';
import type { SentHeaders } from '../http/sent-headers.js';
import type { CallMetadata } from '../upstream.js';
import { unfitKey } from './metadata-keys.js';
import { isPrefix, newName, type Renaming, Renamings } from './renamings.js';

/** What to do with a forwarded header with characters other than printable ASCII, which gRPC metadata cannot carry. */
export type UnfitValue =
  /** Each such character becomes `?`. */
  | 'mask'
  /** The request is refused with `REQUEST_MALFORMED`. */
  | 'refuse'
  /** The header is omitted. */
  | 'drop';

/** A forwarded header whose metadata has another name. */
export interface RenamedHeader {
  readonly unfit: UnfitValue;
  /** The metadata key. For a prefix, it ends in `*`, which stands for the rest of the header's name. */
  readonly metadata: string;
}

/**
 * The request headers to forward as metadata of the call, by lower-case name. No other header is forwarded. A name that
 * ends in `*` is a prefix, for all headers that begin with it and have no entry of their own; the longest one applies.
 * The metadata key is the name of the header or, for a prefix, the rest of the name, unless `metadata` says otherwise.
 *
 * A prefix forwards no header as metadata of bytes (`-bin`), or as metadata that gRPC, the transcoder or another entry
 * writes. A request may have up to 4 KiB of metadata from prefixes; more is refused as `HEADERS_TOO_LARGE`.
 */
export type ForwardedHeaders = ReadonlyMap<string, UnfitValue | RenamedHeader>;

export const FORWARDED_HEADERS: ForwardedHeaders = new Map([
  // A masked credential is still present, so the server refuses it as invalid, not as missing.
  ['authorization', 'mask'],
  // W3C Trace Context: an invalid value is ignored.
  ['traceparent', 'drop'],
  ['tracestate', 'drop'],
]);

/**
 * The maximum size of the metadata from prefixes, in bytes, as HTTP/2 counts it (RFC 9113 6.5.2): half of what servers
 * take by default (gRPC's PROTOCOL-HTTP2.md). Some end the connection for more, and with it the calls of others.
 */
const PREFIXED_MAX_BYTES = 4_096;
/** What HTTP/2 counts for each header besides its name and value, in bytes. */
const HEADER_BYTES = 32;

const UNFIT = /[^\x20-\x7e]/g;

const NONE: CallMetadata = new Map();

/** What becomes of a header. */
interface ForwardedHeader extends Renaming {
  readonly unfit: UnfitValue;
}

/** What becomes of the headers of a request. */
interface ForwardedMetadata {
  readonly metadata: CallMetadata;
  /** Why the request fails, by the first header that cannot be forwarded; undefined if all can. */
  readonly unfitHeader: HttpFailure | undefined;
}

/** Makes the metadata of calls from the headers of requests. */
export class Forwarding {
  /** The lower-case names of the headers that are read from a request: the forwarded ones, and those that the transcoder checks. */
  readonly headersToRead: { has(lowerCaseName: string): boolean };
  readonly #headers: Renamings<ForwardedHeader>;
  /** The keys that the entries for single headers write. */
  readonly #ownKeys: ReadonlySet<string>;
  /** The prefixes of keys that the entries for prefixes write, without their `*`, the longest first. */
  readonly #keyPrefixes: readonly string[];

  /** @throws Error with a one-sentence message if a header is not in lower case, or cannot become its metadata. */
  constructor(forwarded: ForwardedHeaders) {
    const headers = [...forwarded].map(([from, entry]) => forwardedHeader(from, entry));
    refuseUnfit(headers);
    this.#headers = new Renamings(headers);

    // `Renamings` keeps prefixes without their `*`.
    const { byName, prefixes } = this.#headers;
    this.#ownKeys = new Set([...byName.values()].map(({ to }) => to));
    this.#keyPrefixes = prefixes.map(({ to }) => to).sort((prefix, other) => other.length - prefix.length);

    // The transcoder checks the first two.
    const singleNames = new Set(['host', 'content-type', ...byName.keys()]);
    const isRead = (name: string): boolean =>
      singleNames.has(name) || this.#headers.prefixOf(name) !== undefined;
    // Without prefixes, a look-up in the set is enough.
    this.headersToRead = prefixes.length === 0 ? singleNames : { has: isRead };
  }

  /**
   * The metadata for a request's headers. Several values of one header are joined, as in RFC 9110 5.2, so two credentials
   * form an invalid one, which the server refuses.
   *
   * @param sent at least those of `headersToRead`.
   * @param observed metadata from observers, which replaces values from the headers. Default: none.
   */
  metadata(sent: SentHeaders, requestId: string, observed = NONE): ForwardedMetadata {
    const metadata = new Map([['x-request-id', requestId]]);
    let unfitHeader: HttpFailure | undefined;
    /** What metadata from prefixes may still take, in bytes. */
    let room = PREFIXED_MAX_BYTES;
    for (const [from, values] of sent) {
      const ownEntry = this.#headers.byName.get(from);
      const entry = ownEntry ?? this.#entryByPrefix(from);
      if (entry === undefined) continue;

      const value = values.join(', ');
      const isByPrefix = ownEntry === undefined;
      if (isByPrefix) room -= entry.to.length + value.length + HEADER_BYTES;
      const isTooMuch = isByPrefix && room < 0;
      // The metadata of a request that is refused is made, too, since the guard is asked with it.
      const failure = isTooMuch ? headersTooLarge() : forward(entry, value, metadata);
      unfitHeader ??= failure;
    }

    for (const [key, value] of observed) metadata.set(key, value);
    return { metadata, unfitHeader };
  }

  /** What becomes of a header whose name begins with a prefix; undefined if none does, or the prefix may not write the key. */
  #entryByPrefix(from: string): ForwardedHeader | undefined {
    const prefix = this.#headers.prefixOf(from);
    if (prefix === undefined) return undefined;
    const to = newName(from, prefix);
    return this.#mayWrite(prefix, to) ? { ...prefix, from, to } : undefined;
  }

  /** Whether the entry of a prefix may write a key: gRPC allows it, and no other entry is more specific about it. */
  #mayWrite({ to }: ForwardedHeader, key: string): boolean {
    const longestPrefix = this.#keyPrefixes.find((prefix) => key.startsWith(prefix));
    return longestPrefix === to && !this.#ownKeys.has(key) && unfitKey(key) === undefined;
  }
}

function forwardedHeader(from: string, entry: UnfitValue | RenamedHeader): ForwardedHeader {
  if (typeof entry === 'object') return { from, to: entry.metadata, unfit: entry.unfit };
  // Without another name, a prefix is removed from the names that begin with it.
  return { from, to: isPrefix(from) ? '*' : from, unfit: entry };
}

/** @throws Error if a header is not in lower case, or if no header, or already another one, may become its metadata */
function refuseUnfit(headers: readonly ForwardedHeader[]): void {
  const taken = new Set<string>();
  for (const { from, to } of headers) {
    if (from !== from.toLowerCase()) throw new Error(`The forwarded header "${from}" must be in lower case.`);

    // Any letter stands for the rest of a name.
    const key = isPrefix(from) ? to.replace(/\*$/, 'x') : to;
    const whyUnfit = taken.has(to) ? 'as would another one' : unfitKey(key);
    if (whyUnfit !== undefined)
      throw new Error(`The forwarded header "${from}" would be the metadata "${to}", ${whyUnfit}.`);
    taken.add(to);
  }
}

/** Adds the metadata for a header, or drops it. @returns the failure of the request if the value is refused */
function forward(
  { from, to, unfit }: ForwardedHeader,
  value: string,
  metadata: Map<string, string>,
): HttpFailure | undefined {
  const masked = value.replace(UNFIT, '?');
  if (masked === value || unfit === 'mask') {
    metadata.set(to, masked);
    return undefined;
  }
  return unfit === 'refuse'
    ? malformedHeader(from, 'Must be printable ASCII characters; got others.')
    : undefined;
}
