import { describeValue, isObject, requireKnown } from './input.js';

/** Options of one call. */
export interface CallOptions {
  /**
   * Cancels the call, which then rejects with the status `CANCELLED` and the signal's reason as its cause. Any number of
   * calls may share a signal: each sets its limit of listeners, beyond which Node warns of a leak, to none, for good.
   */
  readonly signal?: AbortSignal | undefined;
  /**
   * The time limit of the call, including its token, its attempts and its waiting for a connection, in milliseconds: an
   * integer from 1 to 2,147,483,647. A call that has no connection by then takes up to 100 milliseconds more, to learn
   * why. The service ends each attempt after 5,000 milliseconds by default, even if this limit is longer. Default:
   * 5,000.
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Names the call in the service's logs and in errors (`x-request-id`): 1 to 128 visible ASCII characters. Default: a
   * random UUID.
   */
  readonly requestId?: string | undefined;
}

/** Options of a create, and of its dry run. */
export interface CreateOptions extends CallOptions {
  /**
   * The service stores at most one route per caller and key, forever, so that a create with the same key may be
   * repeated, even by another process: 1 to 128 visible ASCII characters. Default: a random UUID, so that only the
   * attempts of this call share it; none for a dry run.
   */
  readonly idempotencyKey?: string | undefined;
}

const DEFAULT_TIMEOUT_MS = 5_000;
/** The longest delay of a Node timer, in milliseconds. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;
const ID = /^[\x21-\x7e]{1,128}$/;
/** The names of the options that every call has. */
export const CALL_OPTIONS = ['signal', 'timeoutMs', 'requestId'] satisfies readonly (keyof CallOptions)[];
/** The names of the options of a create. */
export const CREATE_OPTIONS = [...CALL_OPTIONS, 'idempotencyKey'] satisfies readonly (keyof CreateOptions)[];

/** Options whose types and bounds are right. */
export type CheckedOptions = CreateOptions & { readonly timeoutMs: number };

/**
 * Checks the options of a call.
 *
 * @param allowed the names that they may have: `CALL_OPTIONS` or `CREATE_OPTIONS`
 * @throws RangeError when an option is unknown, out of its bounds or of the wrong type (where a TypeError is customary:
 *   users see the error as the `cause` of theirs, so it stays what it is)
 */
export function checkOptions(allowed: readonly string[], options: unknown = {}): CheckedOptions {
  if (!isObject(options))
    throw new RangeError(`The options must be an object, not ${describeValue(options)}.`);
  // The name that it has in the contract.
  if (options['validateOnly'] !== undefined)
    throw new RangeError('There is no option "validateOnly"; a dry run is the method checkRoute.');
  requireKnown('option', options, allowed);

  const { signal, timeoutMs = DEFAULT_TIMEOUT_MS, requestId, idempotencyKey } = options;
  if (signal !== undefined && !isSignal(signal)) refuse('signal', 'an AbortSignal', signal);
  if (!Number.isInteger(timeoutMs) || Number(timeoutMs) < 1 || Number(timeoutMs) > MAX_TIMEOUT_MS)
    refuse('timeoutMs', `an integer from 1 to ${MAX_TIMEOUT_MS}`, timeoutMs);
  for (const [name, id] of Object.entries({ requestId, idempotencyKey }))
    if (id !== undefined && !isId(id)) refuse(name, '1 to 128 visible ASCII characters', id);

  return { ...(options as CreateOptions), timeoutMs: Number(timeoutMs) };
}

/** Whether a value can name a call or a create. */
export function isId(value: unknown): value is string {
  return typeof value === 'string' && ID.test(value);
}

/** Whether a value has what a call needs of a signal, as those of jsdom and happy-dom have. */
function isSignal(value: unknown): value is AbortSignal {
  return (
    isObject(value) &&
    typeof value['aborted'] === 'boolean' &&
    typeof value['addEventListener'] === 'function' &&
    typeof value['removeEventListener'] === 'function'
  );
}

function refuse(name: string, allowed: string, value: unknown): never {
  throw new RangeError(`${name} must be ${allowed}, not ${describeValue(value)}.`);
}
