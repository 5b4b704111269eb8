import { type Refusal, tokenInvalid } from './auth-result.js';
import type { JsonObject } from './compact-jwt.js';
import { fetchJson } from './fetch-json.js';
import { findKey, type FoundKey, type KeySet, readKeySet } from './key-set.js';
import { ALGORITHM_NOT_ALLOWED, type CurrentKeys, PUBLIC_KEY_ALGORITHMS } from './trusted-key.js';

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
