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
  /** Why the keys cannot be fetched. For the log only. */
  readonly cause?: unknown;
}

/** The outcome of checking a request's credential. */
export type AuthResult =
  | {
      readonly ok: true;
      readonly caller: Caller;
      /**
       * How long this result may be remembered, in milliseconds since the epoch: until the token's `exp`, without the
       * clock tolerance, or until its key must be asked for again, if that is sooner.
       */
      readonly rememberUntilMs: number;
    }
  | Refusal;

/** A refusal for a missing token. */
export function tokenMissing(): Refusal {
  return { ok: false, reason: 'TOKEN_MISSING', message: 'No bearer token was given.' };
}

/** A refusal of the given token. It has no cause: the errors of libraries may repeat parts of the token. */
export function tokenInvalid(message: string): Refusal {
  return { ok: false, reason: 'TOKEN_INVALID', message };
}
