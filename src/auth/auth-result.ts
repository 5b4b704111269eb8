/** Who calls, as a verified token says. */
export interface Caller {
  /** The token's `sub`: 1 to 255 characters, no control characters. Unique within the one trusted issuer. */
  readonly subject: string;
  /** What the caller may do: the scopes of `scope` (RFC 8693, section 4.2) and `scp` together. */
  readonly scopes: ReadonlySet<string>;
}

/** Why nobody is let in. */
export interface Refusal {
  readonly ok: false;
  /**
   * - `TOKEN_MISSING`: no bearer token was given at all.
   * - `TOKEN_INVALID`: what was given is not a token of ours, or not valid now.
   * - `KEYS_UNAVAILABLE`: nobody can tell, because the keys can't be fetched; the same token may pass later.
   */
  readonly reason: 'TOKEN_MISSING' | 'TOKEN_INVALID' | 'KEYS_UNAVAILABLE';
  /** A fixed sentence for the caller. It repeats nothing of the token. */
  readonly message: string;
  /** What a library threw. For the log only. */
  readonly cause?: unknown;
}

/** What became of a request's credential. */
export type AuthResult =
  | {
      readonly ok: true;
      readonly caller: Caller;
      /** The token's `exp`, in milliseconds since the epoch, without the tolerance for clocks that differ. */
      readonly expiresAtMs: number;
    }
  | Refusal;

/** A refusal for want of a token. */
export function tokenMissing(): Refusal {
  return { ok: false, reason: 'TOKEN_MISSING', message: 'No bearer token was given.' };
}

/** A refusal of the given token. */
export function tokenInvalid(message: string, cause?: unknown): Refusal {
  return { ok: false, reason: 'TOKEN_INVALID', message, ...(cause === undefined ? {} : { cause }) };
}
