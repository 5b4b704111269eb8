import { type Metadata, type StatusObject, status } from '@grpc/grpc-js';
import { statusReply } from '../calls/failures.js';
import { type CallReason, type Reason, REQUEST_ID } from '../calls/call.js';
import { Failure } from '../registry/failure.js';
import { Limiter } from '../calls/limiter.js';
import { requestIdOf } from '../calls/pipeline.js';

/** The most calls open at one time, on all connections. */
const MOST_CALLS = 1_024;
/** The part of these calls that one connection may have open, so that no client takes them all. */
const PART_OF_CONNECTION = 1 / 8;

/**
 * Observes a streaming call, as metrics do. Called when the call begins.
 *
 * @returns called once, when the call ends, with its code, and with the reason if the service refused or ended the call
 */
export type ObserveStreamingCall = (path: string) => (code: status, reason?: Reason) => void;

/** A call of one of grpc-js's streaming handlers. */
interface StreamingCall {
  readonly metadata: Metadata;
  readonly writableEnded: boolean;
  getPath(): string;
  /** The connection. */
  getPeer(): string;
  once(event: 'cancelled', listener: () => void): unknown;
  emit(event: 'error', error: Partial<StatusObject>): boolean;
}

/** The open streaming calls, which are served by grpc-js's own handlers. */
export class StreamingCalls {
  readonly #observe: ObserveStreamingCall;
  readonly #limiter: Limiter;
  readonly #open = new Map<StreamingCall, ReturnType<ObserveStreamingCall>>();

  /** @param most the most calls open at one time; default: 1,024 */
  constructor(observe: ObserveStreamingCall = () => () => undefined, most = MOST_CALLS) {
    this.#observe = observe;
    this.#limiter = new Limiter('streaming calls', most, most * PART_OF_CONNECTION);
  }

  /**
   * Accepts a call, or refuses it.
   *
   * @param failureBeyondLimit creates the error for a call beyond the limit
   * @returns whether the handler may serve it
   */
  begin(call: StreamingCall, failureBeyondLimit: () => Failure<CallReason>): boolean {
    const peer = call.getPeer();
    const full = !this.#limiter.acquire(peer);
    const onEnd = this.#observe(call.getPath());
    this.#open.set(call, (...end) => {
      if (!full) this.#limiter.release(peer);
      onEnd(...end);
    });

    // grpc-js emits this event at the end of every call. The stream has ended only if the server ended the call.
    call.once('cancelled', () => {
      this.#end(call, call.writableEnded ? status.OK : status.CANCELLED);
    });

    if (full) this.#fail(call, failureBeyondLimit());
    return !full;
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
    call.emit('error', { code, details, metadata: trailers });
  }

  #end(call: StreamingCall, code: status, reason?: Reason): void {
    const onEnd = this.#open.get(call);
    this.#open.delete(call);
    onEnd?.(code, reason);
  }
}
