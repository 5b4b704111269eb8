import { describeValue, isObject, requireKnown } from './input.js';

/** Options of one call. */
export interface CallOptions {
  /** Cancels the call, which then rejects with the status `CANCELLED` and the signal's reason as its cause. */
  readonly signal?: AbortSignal | undefined;
  /**
   * The time limit of the call, including its token, its attempts and its waiting for a connection, in milliseconds: an
   * integer from 1 to 2,147,483,647. The service ends each attempt after 5,000 milliseconds by default, even if this
   * limit is longer. Default: 5,000.
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
/** The names of `CallOptions`, and those of `CreateOptions`. */
const OF_CALLS = ['signal', 'timeoutMs', 'requestId'];
const OF_CREATES = [...OF_CALLS, 'idempotencyKey'];

/** Options whose types and bounds are right. */
export type CheckedOptions = CreateOptions & { readonly timeoutMs: number };

/** @throws RangeError when an option is unknown, has the wrong type or is out of its bounds */
export function checkOptions(options: unknown = {}, reads = false): CheckedOptions {
  if (!isObject(options))
    throw new RangeError(`The options must be an object, not ${describeValue(options)}.`);
  // The name that it has in the contract.
  if (options['validateOnly'] !== undefined)
    throw new RangeError('There is no option "validateOnly"; a dry run is the method checkRoute.');
  requireKnown('option', options, reads ? OF_CALLS : OF_CREATES);

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
