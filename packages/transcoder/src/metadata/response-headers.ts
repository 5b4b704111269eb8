import type { ServerResponse } from 'node:http';
import { TOKEN } from '../http/token.js';
import { newName, type Renaming, Renamings } from './renamings.js';
import type { ReplyMetadata, UnaryReply } from '../upstream.js';

/**
 * The metadata of replies to send as response headers: the name of a header by its lower-case metadata key. A key that
 * ends in `*` is a prefix, for all keys that begin with it and have no entry of their own; the longest one applies. The
 * name of its header ends in `*`, too, which stands for the rest of the key.
 *
 * A prefix sends no metadata of gRPC itself (`grpc-*`, `content-type`), and none as a header that Node, the transcoder or
 * another entry writes.
 */
export type ResponseHeaders = ReadonlyMap<string, string>;

/**
 * The headers that metadata must not set. `Content-Encoding` is none of them, since the bytes of a `google.api.HttpBody` may
 * be compressed.
 */
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

const NAME = new RegExp(`^${TOKEN}$`);

// The values that a header can carry: Node throws for any other character, such as CR and LF.
const FIT = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Makes response headers from the metadata of replies. */
export class ReplyHeaders {
  readonly #renamings: Renamings<Renaming>;
  /** The headers of single keys, in lower case. Prefixes do not send them. */
  readonly #ownNames: ReadonlySet<string>;

  /** @throws Error with a one-sentence message if a name is invalid, or is that of a header that metadata must not set */
  constructor(headers: ResponseHeaders) {
    this.#renamings = new Renamings([...headers].map(([from, to]) => ({ from, to })));
    // The `*` of a prefix is a character of tokens, too.
    const misnamed = [...headers.values()].find((name) => !NAME.test(name));
    if (misnamed !== undefined) throw new Error(`"${misnamed}" is not the name of a header.`);

    const names = [...this.#renamings.byName.values()].map(({ to }) => to);
    const taken = names.find((name) => TAKEN.has(name.toLowerCase()));
    if (taken !== undefined)
      throw new Error(
        `The header "${taken}" is written by the transcoder or by Node, and not from metadata.`,
      );
    this.#ownNames = new Set(names.map((name) => name.toLowerCase()));
  }

  /**
   * Adds the metadata of a reply to the response headers, one line for each value, and keeps what middleware has set.
   * Values that a header cannot carry are left out, such as the bytes of a key that ends in `-bin`.
   */
  addTo(response: ServerResponse, { initialMetadata, trailers }: UnaryReply): void {
    const prefixed = this.#renamingsByPrefix(initialMetadata, trailers);
    for (const { from, to } of [...this.#renamings.byName.values(), ...prefixed]) {
      const values = [...(initialMetadata?.get(from) ?? []), ...(trailers?.get(from) ?? [])];
      for (const value of values) {
        if (typeof value === 'string' && FIT.test(value)) response.appendHeader(to, value);
      }
    }
  }

  /** The keys that prefixes send, each with the name of its header. */
  #renamingsByPrefix(...sources: readonly (ReplyMetadata | undefined)[]): Renaming[] {
    if (this.#renamings.prefixes.length === 0) return [];
    const keys = new Set(sources.flatMap((metadata) => Object.keys(metadata?.getMap?.() ?? {})));
    return [...keys].map((key) => this.#renamingByPrefix(key)).filter((renaming) => renaming !== undefined);
  }

  /** What a key becomes by a prefix; undefined if no prefix sends it. */
  #renamingByPrefix(from: string): Renaming | undefined {
    const prefix = this.#renamings.prefixOf(from);
    const isOfGrpc = from.startsWith('grpc-') || from === 'content-type';
    if (prefix === undefined || isOfGrpc) return undefined;

    const to = newName(from, prefix);
    const name = to.toLowerCase();
    const isFree = !TAKEN.has(name) && !this.#ownNames.has(name);
    return isFree && NAME.test(to) ? { from, to } : undefined;
  }
}
