/** Why the registry or its store refused a request or failed: the `reason` of a `google.rpc.ErrorInfo` (AIP-193). */
export type DomainReason =
  | 'ROUTE_INVALID'
  | 'ROUTE_NOT_FOUND'
  | 'ROUTE_EXISTS'
  | 'REQUEST_ID_REUSED'
  | 'STORE_UNAVAILABLE'
  | 'DEADLINE_EXCEEDED';

/** The message of `DEADLINE_EXCEEDED`, from the pipeline and from the store. */
export const DEADLINE_PASSED = 'The deadline passed before the call was answered.';

/** One problem with a request. */
export interface Violation {
  /** The field, as a path of contract field names: `route.middleware[2]`, `request_id`. */
  readonly field: string;
  /** What is allowed, then what came, in a sentence: `Must be 1 to 255 characters; got 300.` */
  readonly description: string;
}

/**
 * A failure that the client is told of: its message is meant for the client, its `cause` for the log only. The domain
 * and its store fail with a `DomainReason`, the pipeline also with others.
 */
export class Failure<Reason extends string = DomainReason> extends Error {
  override readonly name = 'Failure';
  readonly reason: Reason;
  /** The violations in the request, with `ROUTE_INVALID` only: all, but for a path that has very many. */
  readonly violations: readonly Violation[];
  /** Machine-readable facts, sent as `ErrorInfo.metadata`. */
  readonly metadata: Readonly<Record<string, string>>;

  constructor(
    // Not inferred, so that a reason of nobody does not compile.
    reason: NoInfer<Reason>,
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
