/** Why the registry refused or failed: the `reason` of a `google.rpc.ErrorInfo` (AIP-193). */
export type RegistryReason =
  'ROUTE_INVALID' | 'ROUTE_NOT_FOUND' | 'ROUTE_EXISTS' | 'REQUEST_ID_REUSED' | 'STORE_UNAVAILABLE';

/** One thing wrong with a request. */
export interface Violation {
  /** Where, as a path of contract field names: `route.middleware[2]`, `request_id`. */
  readonly field: string;
  /** What came and what is allowed, in a sentence or two. */
  readonly description: string;
}

/** The one failure of the domain. What it says is meant for the caller; its `cause` is for the log only. */
export class RegistryError extends Error {
  override readonly name = 'RegistryError';
  readonly reason: RegistryReason;
  /** Every violation of the request, with `ROUTE_INVALID` only. */
  readonly violations: readonly Violation[];
  /** Facts for programs, as `ErrorInfo.metadata` carries them. */
  readonly metadata: Readonly<Record<string, string>>;

  constructor(
    reason: RegistryReason,
    message: string,
    rest: {
      readonly violations?: readonly Violation[];
      readonly metadata?: Readonly<Record<string, string>>;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, rest.cause === undefined ? undefined : { cause: rest.cause });
    this.reason = reason;
    this.violations = rest.violations ?? [];
    this.metadata = rest.metadata ?? {};
  }
}
