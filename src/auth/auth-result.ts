/** The caller, as identified by a verified token. */
export interface Caller {
  /** The token's `sub`: 1 to 255 characters, no control characters. Unique within the one trusted issuer. */
  readonly subject: string;
  /** The caller's permissions: the scopes of `scope` (RFC 8693, section 4.2) and `scp` together. */
  readonly scopes: ReadonlySet<string>;
}

/** Why the caller is refused. */
export interface Refusal {
  readonly ok: false;
  /**
   * - `TOKEN_MISSING`: no bearer token was given.
   * - `TOKEN_INVALID`: the credential is not one of our tokens, or is not valid now.
   * - `KEYS_UNAVAILABLE`: the keys cannot be fetched, so nobody can tell; the same token may pass later.
   */
  readonly reason: 'TOKEN_MISSING' | 'TOKEN_INVALID' | 'KEYS_UNAVAILABLE';
  /** A fixed sentence for the client. It repeats nothing from the token. */
  readonly message: string;
  /** The error that a library threw. For the log only. */
  readonly cause?: unknown;
}

/** The outcome of checking a request's credential. */
export type AuthResult =
  | {
      readonly ok: true;
      readonly caller: Caller;
      /** The token's `exp`, in milliseconds since the epoch, without the clock tolerance. */
      readonly expiresAtMs: number;
    }
  | Refusal;

/** A refusal for a missing token. */
export function tokenMissing(): Refusal {
  return { ok: false, reason: 'TOKEN_MISSING', message: 'No bearer token was given.' };
}

/** A refusal of the given token. */
export function tokenInvalid(message: string, cause?: unknown): Refusal {
  return { ok: false, reason: 'TOKEN_INVALID', message, ...(cause === undefined ? {} : { cause }) };
}
