import type { ServerResponse } from 'node:http';
import type { HttpFailure } from './failures/failure.js';
import { type CallMetadata, CONNECTION_KEYS, type ReplyMetadata, type UnaryReply } from './upstream.js';
import { headersTooLarge, malformedHeader } from './http/head.js';
import type { SentHeaders } from './http/sent-headers.js';

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

/** What becomes of a name or, with a prefix, of all names that begin with it: another name or prefix. */
interface Renaming {
  /** A name, or a prefix with its `*`; `Renamings` keeps prefixes without. */
  readonly from: string;
  readonly to: string;
}

/** The entries for single names, by name, and those for prefixes, without their `*`, the longest first. */
class Renamings<Entry extends Renaming> {
  readonly single = new Map<string, Entry>();
  readonly prefixes: Entry[] = [];

  /** @throws Error with a one-sentence message if a prefix would become a single name. */
  constructor(entries: Iterable<Entry>) {
    for (const entry of entries) {
      const { from, to } = entry;
      if (!isPrefix(from)) {
        this.single.set(from, entry);
        continue;
      }
      if (!isPrefix(to))
        throw new Error(`"${from}" stands for several names, and "${to}" for one; it must end in "*", too.`);
      this.prefixes.push({ ...entry, from: from.slice(0, -1), to: to.slice(0, -1) });
    }

    this.prefixes.sort((one, other) => other.from.length - one.from.length);
  }

  /**
   * The entry for the longest prefix of a name, which has something behind the prefix; undefined if there is none, or the
   * name has an entry of its own.
   */
  prefixOf(name: string): Entry | undefined {
    if (this.prefixes.length === 0 || this.single.has(name)) return undefined;
    return this.prefixes.find(({ from }) => name.startsWith(from) && name !== from);
  }
}

function isPrefix(name: string): boolean {
  return name.endsWith('*');
}

/** What a name that begins with a prefix becomes. */
function newName(name: string, { from, to }: Renaming): string {
  return to + name.slice(from.length);
}

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

/** Why no header can become metadata with a key, as the end of a sentence; undefined if one can. */
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
    this.#headers = new Renamings([...headers].map(([from, entry]) => this.#checked(from, entry)));
    const { single, prefixes } = this.#headers;
    const names = new Set(['host', 'content-type', ...single.keys()]);
    const isRead = (name: string): boolean => names.has(name) || this.#headers.prefixOf(name) !== undefined;
    this.names = prefixes.length === 0 ? names : { has: isRead };
    this.#writtenPrefixes = prefixes.map(({ to }) => to).sort((one, other) => other.length - one.length);
  }

  #checked(from: string, entry: UnfitValue | RenamedHeader): Forwarded {
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
      const entry = single ?? this.#prefixed(from);
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
  #prefixed(from: string): Forwarded | undefined {
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

/**
 * The metadata of replies to send as response headers: the name of a header by its lower-case metadata key. A key that
 * ends in `*` is a prefix, for all keys that begin with it and have no entry of their own; the longest one applies. The
 * name of its header ends in `*`, too, which stands for the rest of the key.
 *
 * A prefix sends no metadata of gRPC itself (`grpc-*`, `content-type`), and none as a header that Node, the transcoder or
 * another entry writes.
 */
export type ResponseHeaders = ReadonlyMap<string, string>;

/** The headers that metadata must not set. */
const TAKEN: ReadonlySet<string> = new Set([
  // Node writes or interprets these.
  'connection',
  'content-length',
  'date',
  'keep-alive',
  'trailer',
  'transfer-encoding',
  // The transcoder writes these.
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

// RFC 9110 5.6.2: what the name of a header is.
const TOKEN = /^[\w!#$%&'*+\-.^`|~]+$/;

// The values that a header can carry: Node throws for any other character, such as CR and LF.
const FIT = /^[\x20-\x7e\x80-\xff]*$/;

/** Makes response headers from the metadata of replies. */
export class ReplyHeaders {
  readonly #metadata: Renamings<Renaming>;
  /** The headers of single keys, in lower case. */
  readonly #names: ReadonlySet<string>;

  /** @throws Error with a one-sentence message if a name is invalid, or is that of a header that metadata must not set */
  constructor(headers: ResponseHeaders) {
    this.#metadata = new Renamings([...headers].map(([from, to]) => ({ from, to })));
    const names = [...this.#metadata.single.values()].map(({ to }) => to);
    const misnamed = [...headers.values()].find((name) => !TOKEN.test(name));
    if (misnamed !== undefined) throw new Error(`"${misnamed}" is not the name of a header.`);

    const taken = names.find((name) => TAKEN.has(name.toLowerCase()));
    if (taken !== undefined)
      throw new Error(
        `The header "${taken}" is written by the transcoder or by Node, and not from metadata.`,
      );
    this.#names = new Set(names.map((name) => name.toLowerCase()));
  }

  /**
   * Adds the metadata of a reply to the response headers, one line for each value, and keeps what middleware has set.
   * Values that a header cannot carry are left out, such as the bytes of a key that ends in `-bin`.
   */
  addTo(response: ServerResponse, { initialMetadata, trailers }: UnaryReply): void {
    const prefixed = this.#prefixed(initialMetadata, trailers);
    for (const { from, to } of [...this.#metadata.single.values(), ...prefixed]) {
      const values = [...(initialMetadata?.get(from) ?? []), ...(trailers?.get(from) ?? [])];
      for (const value of values) {
        if (typeof value === 'string' && FIT.test(value)) response.appendHeader(to, value);
      }
    }
  }

  /** The keys that prefixes send, each with the name of its header. */
  #prefixed(...sources: readonly (ReplyMetadata | undefined)[]): Renaming[] {
    if (this.#metadata.prefixes.length === 0) return [];
    const keys = new Set(sources.flatMap((metadata) => Object.keys(metadata?.getMap?.() ?? {})));
    return [...keys].flatMap((from) => {
      const prefix = this.#metadata.prefixOf(from);
      if (prefix === undefined || from.startsWith('grpc-') || from === 'content-type') return [];
      const to = newName(from, prefix);
      const name = to.toLowerCase();
      const isFree = !TAKEN.has(name) && !this.#names.has(name);
      return TOKEN.test(to) && isFree ? [{ from, to }] : [];
    });
  }
}
