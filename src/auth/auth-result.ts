/** The caller, as identified by a verified token. */
export interface Caller {
  /**
   * The token's `sub`: 1 to 255 characters, no control characters. All trusted issuers must use the same subject for the
   * same caller, and for no other; this is not checked.
   */
  readonly subject: string;
  /** The caller's permissions: the scopes of all scope claims of the token, together. */
  readonly scopes: ReadonlySet<string>;
}

/** Why the caller is refused. */
export interface Refusal {
  readonly ok: false;
  /**
   * - `TOKEN_MISSING`: the request has no credential, or a credential that is not a bearer token.
   * - `TOKEN_INVALID`: the bearer token is malformed, cannot be verified or is not valid at this time.
   * - `KEYS_UNAVAILABLE`: the keys cannot be fetched, so the token cannot be verified now; a retry may succeed.
   */
  readonly reason: 'TOKEN_MISSING' | 'TOKEN_INVALID' | 'KEYS_UNAVAILABLE';
  /** A fixed sentence for the client. It never quotes the token. */
  readonly message: string;
  /** Why the keys cannot be fetched; for the log only. */
  readonly cause?: unknown;
}

/** The outcome of checking a request's credential. */
export type AuthResult =
  | {
      readonly ok: true;
      readonly caller: Caller;
      /** Until when this result may be cached, in milliseconds since the epoch: the token's `exp`, without tolerance. */
      readonly rememberUntilMs: number;
    }
  | Refusal;

/** Whether what a step of authentication returned is a refusal, rather than what the step was to find. */
export function isRefusal(result: object): result is Refusal {
  return 'ok' in result && result.ok === false;
}

/** A refusal of an invalid token. It has no `cause`, since library errors may quote parts of the token. */
export function tokenInvalid(message: string): Refusal {
  return { ok: false, reason: 'TOKEN_INVALID', message };
}
