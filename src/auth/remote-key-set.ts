import { performance } from 'node:perf_hooks';
import { findKey, type KeySet, NO_KEYS, readKeySet } from './key-set.js';
import { ALGORITHM_NOT_ALLOWED_MESSAGE, PUBLIC_KEY_ALGORITHMS, type TrustedKey } from './keys.js';
import { type Refusal, tokenInvalid } from './auth-result.js';
import type { JsonObject } from './compact-jwt.js';

/** The pause after a successful fetch, in milliseconds. */
const REFRESH_MS = 300_000;
/** The pause after a failed fetch, and the minimum time between fetches that calls ask for, in milliseconds. */
const RETRY_MS = 60_000;
/** The pause after a failed fetch while there is no set, in milliseconds: nobody can be authenticated. */
const LOST_RETRY_MS = 1_000;
/** The age at which the set is discarded if it cannot be fetched again, in milliseconds. */
const LOST_AGE_MS = 3_600_000;
/** The time limit of a fetch, in milliseconds. */
const FETCH_MS = 3_000;
/** The most calls that wait for a fetch, far fewer than may be under way: unknown keys must not keep out known ones. */
const MAX_WAITING = 256;

interface RemoteKeySetOptions {
  /** `http:` or `https:`, without credentials; redirects are not followed. */
  readonly url: string;
  /** The time in milliseconds, which steps of the system's clock do not change; default: `performance.now()`. */
  readonly now?: (() => number) | undefined;
  /** Calls the task once after the delay, unless the returned function is called before. Default: with `setTimeout`. */
  readonly later?: (task: () => void, delayMs: number) => () => void;
  /** Called with the reason when a fetch fails, and the state that the set is then in. */
  readonly onProblem?: (error: Error, state: KeySetState) => void;
  /** The time limit of a fetch, in milliseconds. Default: 3,000. */
  readonly fetchMs?: number | undefined;
}

/** The key of a token, or why there is none. */
type FoundKey = readonly [TrustedKey] | Refusal;

/**
 * - `fresh`: the latest fetch has brought the set.
 * - `usable`: the latest fetch has failed, but the set is less than an hour old.
 * - `lost`: there is no set yet, or it is an hour old. No token can be verified.
 */
type KeySetState = 'fresh' | 'usable' | 'lost';

/**
 * The JSON Web Key Set (RFC 7517, section 5) at a URL. It is fetched at the start, then five minutes after each
 * successful fetch, or one minute after a failed fetch (one second while there is no set), and for tokens whose key is
 * unknown or ambiguous, at most once a minute. Only calls with such tokens wait for the fetch, at most 256 at once.
 */
export class RemoteKeySet {
  /** Resolves when the first set is there. */
  readonly ready: Promise<void>;
  readonly #url: URL;
  readonly #now: () => number;
  readonly #later: NonNullable<RemoteKeySetOptions['later']>;
  readonly #onProblem: NonNullable<RemoteKeySetOptions['onProblem']>;
  readonly #fetchMs: number;
  #becomeReady: () => void = () => undefined;
  #keys = NO_KEYS;
  /** When the fetch that has brought the set began. */
  #fetchedAtMs = -Infinity;
  /** When the latest fetch began. */
  #sentAtMs = -Infinity;
  /** Why the latest fetch failed, if it did. */
  #failure: Error | undefined;
  #fetching: Promise<void> | undefined;
  #cancelNext: () => void = () => undefined;
  #waiting = 0;
  #closed = false;

  /** @throws Error when the URL is not allowed */
  constructor({
    url,
    now = () => performance.now(),
    later = afterDelay,
    onProblem,
    fetchMs = FETCH_MS,
  }: RemoteKeySetOptions) {
    this.#url = parseHttpUrl(url);
    this.#now = now;
    this.#later = later;
    this.#onProblem = onProblem ?? (() => undefined);
    this.#fetchMs = fetchMs;
    this.ready = new Promise((resolve) => {
      this.#becomeReady = resolve;
    });
  }

  /** Fetches the set now, and from then on regularly. */
  start(): void {
    void this.#fetch();
  }

  /** Fetches the set no more. */
  close(): void {
    this.#closed = true;
    this.#cancelNext();
  }

  /** The age of the set, in milliseconds; infinite before there is a set. */
  get ageMs(): number {
    return this.#now() - this.#fetchedAtMs;
  }

  get #state(): KeySetState {
    if (this.ageMs >= LOST_AGE_MS) return 'lost';
    return this.#failure === undefined ? 'fresh' : 'usable';
  }

  /** The latest set, an object of its own after each fetch; without keys before there is a set, and once it is lost. */
  get keys(): KeySet {
    return this.#state === 'lost' ? NO_KEYS : this.#keys;
  }

  /** The key of a token with this header. Never throws or rejects; asynchronous only when it waits for a fetch. */
  find({ alg, kid }: JsonObject): FoundKey | Promise<FoundKey> {
    // HMAC is not allowed: anyone who can read the set could sign.
    const algorithm = PUBLIC_KEY_ALGORITHMS.find((allowed) => allowed === alg);
    if (algorithm === undefined) return tokenInvalid(ALGORITHM_NOT_ALLOWED_MESSAGE);
    if (kid !== undefined && typeof kid !== 'string') return tokenInvalid("The token's kid is not a string.");
    const look = () => findKey(this.keys, algorithm, kid);
    const found = look();
    if ('key' in found || !found.mayAppear) return this.#outcome(found);
    if (this.#now() >= this.#sentAtMs + RETRY_MS) void this.#fetch();
    const fetching = this.#fetching;
    if (fetching === undefined) return this.#outcome(found);
    if (this.#waiting >= MAX_WAITING) return keysUnavailable(undefined, TOO_MANY_WAIT);
    this.#waiting++;
    return fetching.then(() => {
      this.#waiting--;
      return this.#outcome(look());
    });
  }

  #outcome(found: ReturnType<typeof findKey>): FoundKey {
    if ('key' in found) return [found.key];
    const unavailable = found.mayAppear && this.#state !== 'fresh';
    return unavailable ? keysUnavailable(this.#failure) : tokenInvalid(found.fault);
  }

  /** Fetches the set unless a fetch is under way. Never rejects. */
  #fetch(): Promise<void> {
    return (this.#fetching ??= this.#fetchOnce().finally(() => (this.#fetching = undefined)));
  }

  async #fetchOnce(): Promise<void> {
    this.#cancelNext();
    const sentAtMs = this.#now();
    this.#sentAtMs = sentAtMs;
    try {
      this.#keys = readKeySet(await fetchJson(this.#url, this.#fetchMs));
      this.#fetchedAtMs = sentAtMs;
      this.#failure = undefined;
      this.#becomeReady();
    } catch (error) {
      this.#failure = error instanceof Error ? error : new Error(String(error));
      this.#onProblem(this.#failure, this.#state);
    }
    if (this.#closed) return;
    const usable = Math.min(RETRY_MS, LOST_AGE_MS - this.ageMs);
    const delayMs = { fresh: REFRESH_MS, usable, lost: LOST_RETRY_MS }[this.#state];
    this.#cancelNext = this.#later(() => void this.#fetch(), delayMs);
  }
}

function afterDelay(task: () => void, delayMs: number): () => void {
  const timer = setTimeout(task, delayMs).unref();
  return () => {
    clearTimeout(timer);
  };
}

const TOO_MANY_WAIT = 'Too many calls wait for the keys that verify tokens. Try again.';

/** A refusal for lack of keys that could verify the token. */
export function keysUnavailable(
  cause: unknown,
  message = 'The keys that verify tokens are unavailable. Try again.',
): Refusal {
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
