const MAX_ATTEMPTS = 4;
const FIRST_PAUSE_MS = 100;
/** At most so many tokens; each failure takes one, each success returns a part, and retries need more than half. */
const MAX_TOKENS = 100;
const TOKENS_OF_SUCCESS = 0.1;

/** Stops retries while failed attempts outnumber a tenth of the successful ones by 50 (gRFC A6). */
export class RetryThrottle {
  static readonly #ofTargets = new Map<string, RetryThrottle>();
  #tokens = MAX_TOKENS;

  /** The throttle that all clients of a target share. */
  static of(target: string): RetryThrottle {
    const throttle = this.#ofTargets.get(target) ?? new RetryThrottle();
    this.#ofTargets.set(target, throttle);
    return throttle;
  }

  succeeded(): void {
    this.#tokens = Math.min(MAX_TOKENS, this.#tokens + TOKENS_OF_SUCCESS);
  }

  /** @returns whether the attempt may be repeated */
  failed(): boolean {
    this.#tokens = Math.max(0, this.#tokens - 1);
    return this.#tokens > MAX_TOKENS / 2;
  }
}

/**
 * The pause before the next attempt, in milliseconds; undefined if there is none.
 *
 * @param attempts how many have failed
 * @param pushback `grpc-retry-pushback-ms` of the last one: only a number from 0 up requests another attempt (gRFC A6)
 */
export function pauseAfter(attempts: number, pushback: string | undefined): number | undefined {
  if (attempts >= MAX_ATTEMPTS) return undefined;
  if (pushback === undefined) return FIRST_PAUSE_MS * 2 ** (attempts - 1) * (0.8 + 0.4 * Math.random());
  return /^\d+$/.test(pushback) ? Number(pushback) : undefined;
}
