import type { HttpFailure } from '../failures/failure.js';
import { headersTooLarge, malformedHeader } from '../http/head.js';
import type { SentHeaders } from '../http/sent-headers.js';
import { isPrefix, newName, type Renaming, Renamings } from './renamings.js';
import { type CallMetadata, CONNECTION_KEYS } from '../upstream.js';

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

// The keys of metadata that gRPC allows (PROTOCOL-HTTP2.md).
const KEY = /^[0-9a-z_.-]+$/;

/** The metadata that gRPC or the transcoder itself writes, or that concerns one connection. */
const RESERVED: ReadonlySet<string> = new Set([
  ...CONNECTION_KEYS,
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'te',
  'trailer',
  'user-agent',
  'x-request-id',
]);

/** Why no header can become metadata with a key, as the end of a sentence; undefined if a header can. */
export function unfitKey(key: string): string | undefined {
  if (!KEY.test(key)) return 'which is not a key of gRPC';
  if (key.endsWith('-bin')) return 'which is bytes; only text can be forwarded';
  return RESERVED.has(key) || key.startsWith('grpc-') ? 'which gRPC or the transcoder writes' : undefined;
}

/**
 * The maximum size of the metadata from prefixes, in bytes, as HTTP/2 counts it (RFC 9113 6.5.2): half of what servers
 * take by default (gRPC's PROTOCOL-HTTP2.md). Some end the connection for more, and with it the calls of others.
 */
const PREFIXED_MAX_BYTES = 4_096;
/** What HTTP/2 counts for each header besides its name and value, in bytes. */
const HEADER_BYTES = 32;

const UNFIT = /[^\x20-\x7e]/g;

const NONE: CallMetadata = new Map();

interface Forwarded extends Renaming {
  readonly unfit: UnfitValue;
}

/** What becomes of the headers of a request. */
interface ForwardedMetadata {
  readonly metadata: CallMetadata;
  /** Why the request fails, by the first header that cannot be forwarded; undefined if all can. */
  readonly unfitHeader: HttpFailure | undefined;
}

/** Adds the metadata for a header, or drops it. @returns the failure of the request if the value is refused */
function forward(
  { from, to, unfit }: Forwarded,
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

/** Makes the metadata of calls from the headers of requests. */
export class Forwarding {
  readonly #headers: Renamings<Forwarded>;
  /**
   * The lower-case names of the headers whose lines are read as sent: those that the transcoder checks, and the forwarded
   * ones.
   */
  readonly names: { has(name: string): boolean };
  /** The metadata that the entries write: keys, and prefixes of keys with their `*`. */
  readonly #written = new Set<string>();
  /** The prefixes of keys that the entries write, without their `*`, the longest first. */
  readonly #writtenPrefixes: readonly string[];

  /** @throws Error with a one-sentence message if a header is not in lower case, or cannot become its metadata. */
  constructor(headers: ForwardedHeaders) {
    this.#headers = new Renamings([...headers].map(([from, entry]) => this.#checkedEntry(from, entry)));
    const { single, prefixes } = this.#headers;
    const names = new Set(['host', 'content-type', ...single.keys()]);
    const isRead = (name: string): boolean => names.has(name) || this.#headers.prefixOf(name) !== undefined;
    this.names = prefixes.length === 0 ? names : { has: isRead };
    this.#writtenPrefixes = prefixes
      .map(({ to }) => to)
      .sort((prefix, other) => other.length - prefix.length);
  }

  #checkedEntry(from: string, entry: UnfitValue | RenamedHeader): Forwarded {
    if (from !== from.toLowerCase()) throw new Error(`The forwarded header "${from}" must be in lower case.`);
    // Without another name, a prefix is removed from the names that begin with it.
    const usual = isPrefix(from) ? '*' : from;
    const to = typeof entry === 'object' ? entry.metadata : usual;
    // Any letter stands for the rest of a name.
    const key = isPrefix(from) ? to.replace(/\*$/, 'x') : to;
    const why = this.#written.has(to) ? 'as would another one' : unfitKey(key);
    if (why !== undefined)
      throw new Error(`The forwarded header "${from}" would be the metadata "${to}", ${why}.`);
    this.#written.add(to);
    return { from, to, unfit: typeof entry === 'object' ? entry.unfit : entry };
  }

  /**
   * The metadata for a request's headers. Several values of one header are joined, as in RFC 9110 5.2, so two credentials
   * form an invalid one, which the server refuses.
   *
   * @param observed metadata from observers, which replaces values from the headers. Default: none.
   */
  metadata(sent: SentHeaders, requestId: string, observed = NONE): ForwardedMetadata {
    const metadata = new Map([['x-request-id', requestId]]);
    let unfitHeader: HttpFailure | undefined;
    let room = PREFIXED_MAX_BYTES;
    for (const [from, values] of sent) {
      const single = this.#headers.single.get(from);
      const entry = single ?? this.#entryByPrefix(from);
      if (entry === undefined) continue;

      const value = values.join(', ');
      if (single === undefined) room -= entry.to.length + value.length + HEADER_BYTES;
      const fits = single !== undefined || room >= 0;
      // The metadata of a request that is refused is made, too, since the guard is asked with it.
      const failure = fits ? forward(entry, value, metadata) : headersTooLarge();
      unfitHeader ??= failure;
    }

    for (const [key, value] of observed) metadata.set(key, value);
    return { metadata, unfitHeader };
  }

  /** What becomes of a header whose name begins with a prefix; undefined if none forwards it. */
  #entryByPrefix(from: string): Forwarded | undefined {
    const prefix = this.#headers.prefixOf(from);
    if (prefix === undefined) return undefined;
    const to = newName(from, prefix);
    return this.#mayWrite(prefix, to) ? { ...prefix, from, to } : undefined;
  }

  /** Whether a prefix may write a key: gRPC allows it, and no entry writes it alone or by a longer prefix of keys. */
  #mayWrite({ to }: Forwarded, key: string): boolean {
    const longest = this.#writtenPrefixes.find((prefix) => key.startsWith(prefix));
    return longest === to && !this.#written.has(key) && unfitKey(key) === undefined;
  }
}
