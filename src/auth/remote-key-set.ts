import { createPublicKey } from 'node:crypto';
import type { Algorithm } from 'jsonwebtoken';
import {
  ALGORITHM_NOT_ALLOWED,
  type CurrentKeys,
  PUBLIC_KEY_ALGORITHMS,
  type TrustedKey,
  trustKeyObject,
} from './keys.js';
import { isJsonObject, type JsonObject, type Refusal, tokenInvalid } from './token.js';

/** The age at which the set is fetched again in the background, in milliseconds; its keys stay in use. */
const REFRESH_AGE_MS = 300_000;
/** The age from which calls wait for a new fetch, in milliseconds, so that a withdrawn key is no longer used. */
const MAX_AGE_MS = 600_000;
/** The age at which the set is discarded if it cannot be fetched again, in milliseconds. */
const LOST_AGE_MS = 3_600_000;
/** The minimum time between fetches, in milliseconds, even for unknown and ambiguous keys and after failures. */
const RETRY_MS = 60_000;
/** The same while there are no keys: nobody can be authenticated, so the fetch is retried sooner. */
const RETRY_WITHOUT_KEYS_MS = 1_000;
/** The time limit of a fetch, in milliseconds. */
const FETCH_MS = 3_000;

interface RemoteKeySetOptions {
  /** `http:` or `https:`, without credentials; redirects are not followed. */
  readonly url: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Called with the reason when a refresh fails; the keys stay in use. */
  readonly onProblem: (error: Error) => void;
  /** The time limit of a fetch, in milliseconds. Default: 3,000. */
  readonly fetchMs?: number | undefined;
}

/**
 * The JSON Web Key Set (RFC 7517, section 5) at a URL. It is fetched on first use, on use after five minutes and for a
 * token whose key is unknown or ambiguous, at most once a minute (once a second while there are no keys). Calls wait for
 * the fetch if their key is unknown or ambiguous, or the set is ten minutes old. If the fetch fails, the keys stay in use
 * until the set is an hour old. Concurrent calls share one fetch.
 */
export class RemoteKeySet {
  readonly #options: RemoteKeySetOptions;
  readonly #url: URL;
  #keys: KeySet = { all: [], named: new Map() };
  /** When the latest successful fetch began. */
  #fetchedAtMs = -Infinity;
  /** Why the latest fetch failed, if it did. */
  #failure: Error | undefined;
  #fetching: Promise<void> | undefined;
  #nextFetchMs = -Infinity;

  /** @throws Error when the URL is not allowed */
  constructor(options: RemoteKeySetOptions) {
    this.#options = options;
    this.#url = parseHttpUrl(options.url);
  }

  /** The key of a token with this header. Never throws or rejects; asynchronous only when it waits for a fetch. */
  find({ alg, kid }: JsonObject): CurrentKeys | Refusal | Promise<CurrentKeys | Refusal> {
    // HMAC is not allowed: anyone who can read the set could sign.
    const algorithm = PUBLIC_KEY_ALGORITHMS.find((allowed) => allowed === alg);
    if (algorithm === undefined) return tokenInvalid(ALGORITHM_NOT_ALLOWED);
    if (kid !== undefined && typeof kid !== 'string') return tokenInvalid("The token's kid is not a string.");
    const judge = (found: FoundKey): CurrentKeys | Refusal => {
      if (this.#age() >= LOST_AGE_MS) return keysUnavailable(this.#failure);
      if ('key' in found) return { keys: [found.key], untilMs: this.#currentUntilMs() };
      return found.mayAppear && this.#failure !== undefined
        ? keysUnavailable(this.#failure)
        : tokenInvalid(found.fault);
    };
    const found = findKey(this.#keys, algorithm, kid);
    const awaited = this.#awaitedFetch(!('key' in found) && found.mayAppear);
    return awaited === undefined
      ? judge(found)
      : awaited.then(() => judge(findKey(this.#keys, algorithm, kid)));
  }

  #age(): number {
    return this.#options.now() - this.#fetchedAtMs;
  }

  /** Starts a fetch if one is due. Returns the fetch in progress if the call must wait for it: its key may appear. */
  #awaitedFetch(mayAppear: boolean): Promise<void> | undefined {
    const age = this.#age();
    if (!mayAppear && age < REFRESH_AGE_MS) return undefined;
    if (this.#options.now() >= this.#nextFetchMs) this.#fetching ??= this.#fetch();
    return mayAppear || age >= MAX_AGE_MS ? this.#fetching : undefined;
  }

  async #fetch(): Promise<void> {
    const sentAtMs = this.#options.now();
    this.#postponeNextFetch();
    try {
      this.#keys = readKeySet(await fetchJson(this.#url, this.#options.fetchMs ?? FETCH_MS));
      this.#fetchedAtMs = sentAtMs;
      this.#failure = undefined;
    } catch (error) {
      this.#failure = error instanceof Error ? error : new Error(String(error));
      if (this.#age() < LOST_AGE_MS) this.#options.onProblem(this.#failure);
    }
    this.#postponeNextFetch();
    this.#fetching = undefined;
  }

  #postponeNextFetch(): void {
    const intervalMs = this.#age() < LOST_AGE_MS ? RETRY_MS : RETRY_WITHOUT_KEYS_MS;
    this.#nextFetchMs = this.#options.now() + intervalMs;
  }

  /** When found keys must be looked up again: a fetch may then be due, or the set too old. */
  #currentUntilMs(): number {
    const endMs = this.#fetchedAtMs + (this.#age() < MAX_AGE_MS ? MAX_AGE_MS : LOST_AGE_MS);
    return Math.min(endMs, Math.max(this.#fetchedAtMs + REFRESH_AGE_MS, this.#nextFetchMs));
  }
}

/** A refusal for lack of keys that could verify the token. */
export function keysUnavailable(cause: unknown): Refusal {
  const message = 'The keys that verify tokens are unavailable. Try again.';
  return { ok: false, reason: 'KEYS_UNAVAILABLE', message, cause };
}

function parseHttpUrl(text: string): URL {
  if (!URL.canParse(text)) throw new Error('The URL of the key set is not a URL.');
  const url = new URL(text);
  if (!['http:', 'https:'].includes(url.protocol))
    throw new Error('The URL of the key set does not begin with http: or https:.');
  if (url.username !== '' || url.password !== '')
    throw new Error('The URL of the key set must not hold credentials.');
  return url;
}

/** The keys of an issuer that can verify tokens. */
interface KeySet {
  /** All of them, whether they have a `kid` or not. */
  readonly all: readonly TrustedKey[];
  /** Those with a `kid`. A `kid` whose keys cannot verify any token maps to an empty list. */
  readonly named: ReadonlyMap<string, readonly TrustedKey[]>;
}

/** The members that only private and symmetric keys have (RFC 7518, sections 6.2.2, 6.3.2 and 6.4). */
const SECRET_MEMBERS = ['d', 'k'];

/**
 * Reads a JSON Web Key Set (RFC 7517, section 5). Skips keys that cannot verify a token, and those whose `kid` is not a
 * string.
 *
 * @throws Error when the value is not a key set
 */
function readKeySet(value: unknown): KeySet {
  const keys = isJsonObject(value) ? value['keys'] : undefined;
  if (!Array.isArray(keys) || !keys.every(isJsonObject)) throw new Error('It is not a JSON Web Key Set.');
  const all: TrustedKey[] = [];
  const named = new Map<string, TrustedKey[]>();
  for (const jwk of keys) {
    const { kid } = jwk;
    const trusted = trustedKeysOf(jwk);
    if (kid === undefined || typeof kid === 'string') all.push(...trusted);
    if (typeof kid === 'string') named.set(kid, [...(named.get(kid) ?? []), ...trusted]);
  }
  return { all, named };
}

/** The key of a token, or why there is none. */
type FoundKey =
  | { readonly key: TrustedKey }
  | {
      /** A sentence for the client. */
      readonly fault: string;
      /** Whether a newer set may have the key: it is unknown or ambiguous in this one. */
      readonly mayAppear: boolean;
    };

/**
 * The key of a token with this `alg`: the one that its `kid` names, or without `kid`, which is optional (RFC 7515,
 * section 4.1.4), the only one that fits. Keys are never tried in turn.
 */
function findKey({ all, named }: KeySet, alg: Algorithm, kid: string | undefined): FoundKey {
  const candidates = kid === undefined ? all : named.get(kid);
  if (candidates === undefined)
    return { fault: "The token's kid names no key of the issuer.", mayAppear: true };
  const [key, ...others] = candidates.filter(({ algorithms }) => algorithms.includes(alg));
  if (key !== undefined && others.length === 0) return { key };
  if (kid !== undefined)
    return { fault: "The token's kid does not name a key for its alg.", mayAppear: false };
  const fault =
    key === undefined
      ? 'The issuer has no key for the alg of the token.'
      : 'The token has no kid, and several keys of the issuer fit its alg.';
  return { fault, mayAppear: true };
}

/** The key, restricted to its `alg`; none if it is not a public key that may verify tokens. */
function trustedKeysOf(jwk: JsonObject): TrustedKey[] {
  const { use = 'sig', key_ops: operations = ['verify'], alg } = jwk;
  const verifies = use === 'sig' && Array.isArray(operations) && operations.includes('verify');
  if (!verifies || SECRET_MEMBERS.some((member) => member in jwk)) return [];
  try {
    const trusted = trustKeyObject(createPublicKey({ key: { ...jwk }, format: 'jwk' }));
    const algorithms = trusted.algorithms.filter((each) => alg === undefined || alg === each);
    return [{ ...trusted, algorithms }];
  } catch {
    return [];
  }
}

/** The longest body, in bytes after decompression. */
const BODY_MAX_BYTES = 1_048_576;

/**
 * Fetches a JSON document of at most 1 MiB. Only status 200 is accepted; redirects are not followed.
 *
 * @throws Error for any other response, or for none within the time limit
 */
async function fetchJson(url: URL, timeoutMs: number): Promise<unknown> {
  const response = await fetch(url, {
    headers: { accept: 'application/json' },
    redirect: 'manual',
    signal: AbortSignal.timeout(timeoutMs),
  });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`The status is ${response.status}; it must be 200.`);
  }
  return JSON.parse(await textOf(response)) as unknown;
}

/** Counts the bytes as they arrive, since `content-length` may be missing or give the compressed size. */
async function textOf({ body }: Response): Promise<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let bytes = 0;
  let text = '';
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > BODY_MAX_BYTES) throw new Error(`The body is longer than ${BODY_MAX_BYTES} bytes.`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
