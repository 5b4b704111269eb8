import { type Metadata, type StatusObject, status } from '@grpc/grpc-js';
import { statusReply } from '../calls/failures.js';
import { type CallReason, type Reason, REQUEST_ID } from '../calls/call.js';
import { Failure } from '../registry/failure.js';
import { Limiter } from '../calls/limiter.js';
import { requestIdOf } from '../calls/pipeline.js';

/** The most calls open at one time, on all connections. */
const MOST_CALLS = 1_024;
/** The fraction of these calls that one connection may have open, so that no client takes them all. */
const FRACTION_OF_CONNECTION = 1 / 8;

/**
 * Observes a streaming call, as metrics do. Called when the call begins, or is refused.
 *
 * @returns a function that is called once, when the call ends, with its code, and with the reason if the service refused or
 *   ended the call
 */
export type ObserveStreamingCall = (path: string) => (code: status, reason?: Reason) => void;

/** What is used of a call that a streaming handler of grpc-js gets. */
interface StreamingCall {
  readonly metadata: Metadata;
  readonly writableEnded: boolean;
  getPath(): string;
  /** The id of the connection, which the service gives out in place of grpc-js's address (`unary-call.ts`). */
  getPeer(): string;
  once(event: 'cancelled', listener: () => void): unknown;
  emit(event: 'error', error: Partial<StatusObject>): boolean;
}

/**
 * Counts, limits and observes the open streaming calls, and ends them when the server closes. The handlers of grpc-js serve
 * them; unary calls are served elsewhere (`unary-call.ts`).
 */
export class StreamingCalls {
  readonly #observe: ObserveStreamingCall;
  readonly #limiter: Limiter;
  /** By call, what to do at its end. A refused call, too, is entered: `#fail` ends it at once. */
  readonly #open = new Map<StreamingCall, ReturnType<ObserveStreamingCall>>();

  /** @param most the most calls open at one time; default: 1,024 */
  constructor(observe: ObserveStreamingCall = () => () => undefined, most = MOST_CALLS) {
    this.#observe = observe;
    this.#limiter = new Limiter('streaming calls', most, most * FRACTION_OF_CONNECTION);
  }

  /**
   * Accepts a call, or refuses it.
   *
   * @param failureBeyondLimit creates the error for a call beyond the limit
   * @returns whether the handler may serve it
   */
  begin(call: StreamingCall, failureBeyondLimit: () => Failure<CallReason>): boolean {
    const peer = call.getPeer();
    const isRefused = !this.#limiter.acquire(peer);
    // A refused call is observed as well.
    const onEnd = this.#observe(call.getPath());
    this.#open.set(call, (code, reason) => {
      if (!isRefused) this.#limiter.release(peer);
      onEnd(code, reason);
    });

    // grpc-js emits this event at the end of every call, whatever ended it. A handler (`health.ts`, `reflection.ts`) ends
    // the stream only without an error, so the status of a stream that it has ended is OK. A call that `#fail` ended has
    // left `#open` already, so that `#end` does nothing.
    call.once('cancelled', () => {
      this.#end(call, call.writableEnded ? status.OK : status.CANCELLED);
    });

    if (isRefused) this.#fail(call, failureBeyondLimit());
    return !isRefused;
  }

  /** Ends the calls that their handlers have not ended, with `SHUTTING_DOWN`. */
  close(): void {
    const failure = new Failure<CallReason>(
      'SHUTTING_DOWN',
      'The service is shutting down. Try again in a second.',
    );
    for (const call of this.#open.keys()) if (!call.writableEnded) this.#fail(call, failure);
  }

  #fail(call: StreamingCall, failure: Failure<CallReason>): void {
    const requestId = requestIdOf(call.metadata.get(REQUEST_ID)[0]);
    const { code, details, trailers } = statusReply(failure, requestId);
    this.#end(call, code, failure.reason);
    // grpc-js sends the status of an emitted error.
    call.emit('error', { code, details, metadata: trailers });
  }

  /** Notes that a call has ended. Does nothing for a call that has ended already. */
  #end(call: StreamingCall, code: status, reason?: Reason): void {
    const onEnd = this.#open.get(call);
    this.#open.delete(call);
    onEnd?.(code, reason);
  }
}
