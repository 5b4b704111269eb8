import { status } from '@grpc/grpc-js';
import { RouteClientError } from './route-client-error.js';

/** Options of one call. */
export interface CallOptions {
  /** Cancels the call, which then rejects with the status `CANCELLED` and the signal's reason as its cause. */
  readonly signal?: AbortSignal | undefined;
  /**
   * The time limit of the call, including all its attempts and the wait for a token, in milliseconds: an integer from 1
   * to 2,147,483,647. The service ends each attempt after 5,000 milliseconds by default, even if this limit is longer.
   * Default: 5,000.
   */
  readonly timeoutMs?: number | undefined;
  /**
   * The id of the call in the service's logs and in errors: 1 to 128 visible ASCII characters. The service stores at
   * most one route per caller and request id, forever, so a retry of a create with the same id is safe. Default: a
   * random UUID.
   */
  readonly requestId?: string | undefined;
}

/** The limits of a call: its deadline, and the signal that may cancel it earlier. */
export interface CallLimits {
  readonly signal: AbortSignal | undefined;
  readonly timeoutMs: number;
  /** In milliseconds since the epoch. */
  readonly deadline: number;
  /** The call's id in errors. */
  readonly requestId: string;
}

const DEFAULT_TIMEOUT_MS = 5_000;
/** The longest delay of a Node timer, in milliseconds. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/** @throws RangeError when an option is out of its bounds */
export function callLimits(
  { signal, timeoutMs = DEFAULT_TIMEOUT_MS }: CallOptions,
  requestId: string,
): CallLimits {
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > MAX_TIMEOUT_MS) {
    throw new RangeError(`timeoutMs must be an integer from 1 to ${MAX_TIMEOUT_MS}, not ${timeoutMs}.`);
  }
  if (!/^[\x21-\x7e]{1,128}$/.test(requestId)) {
    const shown = JSON.stringify(requestId.slice(0, 128));
    throw new RangeError(`requestId must be 1 to 128 visible ASCII characters, not ${shown}.`);
  }
  return { signal, timeoutMs, deadline: Date.now() + timeoutMs, requestId };
}

/** Waits for something that a call needs, within the call's limits. */
export function withinLimits<Value>(awaited: Promise<Value>, limits: CallLimits): Promise<Value> {
  const { signal, deadline, timeoutMs, requestId } = limits;
  return new Promise((resolve, reject) => {
    const leftMs = Math.max(0, deadline - Date.now());
    const timer = setTimeout(() => {
      const message = `Deadline exceeded after ${timeoutMs} ms, waiting for a token.`;
      reject(new RouteClientError({ code: status.DEADLINE_EXCEEDED, message, requestId }));
    }, leftMs);
    const cancel = (): void => {
      reject(cancelled(limits));
    };
    if (signal?.aborted === true) cancel();
    signal?.addEventListener('abort', cancel);
    void awaited.then(resolve, reject).finally(() => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', cancel);
    });
  });
}

/** The error of a call that its signal has cancelled. */
export function cancelled({ signal, requestId }: CallLimits): RouteClientError {
  const message = 'The signal has cancelled the call.';
  return new RouteClientError({ code: status.CANCELLED, message, requestId, cause: signal?.reason });
}
