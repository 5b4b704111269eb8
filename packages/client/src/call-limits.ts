import { setMaxListeners } from 'node:events';
import { status } from '@grpc/grpc-js';
import type { CheckedOptions } from './call-options.js';
import { type CallIds, RouteClientError } from './route-client-error.js';

/** Why a call has ended before its reply. */
export type Ending = 'deadline' | 'aborted';

const ENDED = Symbol('ended');

/** The deadline of a call, and the signal that may end it earlier. To be released after the call. */
export class CallLimits {
  /** In milliseconds since the epoch. */
  readonly deadline: number;
  readonly ids: CallIds;
  /** What the call waits for, for the error at its deadline. */
  waitingFor = '';
  readonly #timeoutMs: number;
  readonly #signal: AbortSignal | undefined;
  readonly #timer: NodeJS.Timeout;
  #ending: Ending | undefined;
  #stop: ((ending: Ending) => void) | undefined;

  constructor({ signal, timeoutMs }: CheckedOptions, ids: CallIds) {
    this.deadline = Date.now() + timeoutMs;
    this.ids = ids;
    this.#timeoutMs = timeoutMs;
    this.#signal = signal;
    this.#timer = setTimeout(() => {
      this.#end('deadline');
    }, timeoutMs);
    if (signal !== undefined) {
      // Any number of calls may share it.
      setMaxListeners(0, signal);
      signal.addEventListener('abort', this.#abort);
    }
    if (signal?.aborted === true) this.#ending = 'aborted';
  }

  /**
   * Waits for a value until the call ends.
   *
   * @param begin starts what brings the value, later, and returns what to do if the call ends before
   * @throws RouteClientError (`DEADLINE_EXCEEDED`, `CANCELLED`) when the call has ended
   */
  async wait<Value>(
    begin: (done: (value: Value | Promise<Value>) => void) => (ending: Ending) => void,
  ): Promise<Value> {
    if (this.#ending !== undefined) throw this.#failure(this.#ending);
    const value = await new Promise<Value | typeof ENDED>((resolve) => {
      const stop = begin((brought) => {
        this.#stop = undefined;
        resolve(brought);
      });
      this.#stop = (ending) => {
        stop(ending);
        resolve(ENDED);
      };
    });
    // Created here, not where the call ends, so that the stack names the calling code.
    if (value === ENDED) throw this.#failure(this.#ending);
    return value;
  }

  /** Waits for a promise until the call ends. */
  waitFor<Value>(promise: Promise<Value>): Promise<Value> {
    return this.wait((done) => {
      const settled = (): void => {
        done(promise);
      };
      promise.then(settled, settled);
      return () => undefined;
    });
  }

  /** To be called when the call has ended. */
  release(): void {
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener('abort', this.#abort);
  }

  readonly #abort = (): void => {
    this.#end('aborted');
  };

  #end(ending: Ending): void {
    this.#ending ??= ending;
    const stop = this.#stop;
    this.#stop = undefined;
    stop?.(ending);
  }

  #failure(ending: Ending | undefined): RouteClientError {
    if (ending === 'aborted') {
      const message = 'The signal has cancelled the call.';
      return new RouteClientError({
        code: status.CANCELLED,
        message,
        ...this.ids,
        cause: this.#signal?.reason,
      });
    }
    const message = `Deadline exceeded after ${this.#timeoutMs} ms, waiting for ${this.waitingFor}.`;
    return new RouteClientError({ code: status.DEADLINE_EXCEEDED, message, ...this.ids });
  }
}
