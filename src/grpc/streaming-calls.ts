import { type Metadata, type StatusObject, status } from '@grpc/grpc-js';
import { statusReply } from '../calls/failures.js';
import { type CallReason, type Reason, REQUEST_ID } from '../calls/call.js';
import { Failure } from '../registry/failure.js';
import { requestIdOf } from '../calls/pipeline.js';

/** The most calls open at one time, on all connections. */
const MOST_CALLS = 1_024;
/** The part of them that one connection may have open, so that no client takes them all. */
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
  readonly #most: number;
  readonly #open = new Map<
    StreamingCall,
    { readonly peer: string; readonly onEnd: ReturnType<ObserveStreamingCall> }
  >();
  /** The number of open calls by connection. */
  readonly #ofPeer = new Map<string, number>();

  /** @param most the most calls open at one time; default: 1,024 */
  constructor(observe: ObserveStreamingCall = () => () => undefined, most = MOST_CALLS) {
    this.#observe = observe;
    this.#most = most;
  }

  /**
   * Accepts a call, or refuses it.
   *
   * @param refusal creates the error for a call beyond the limit
   * @returns whether the handler may serve it
   */
  begin(call: StreamingCall, refusal: () => Failure<CallReason>): boolean {
    const peer = call.getPeer();
    const ofPeer = this.#ofPeer.get(peer) ?? 0;
    const full = this.#open.size >= this.#most || ofPeer >= this.#most * PART_OF_CONNECTION;
    const onEnd = this.#observe(call.getPath());
    this.#open.set(call, { peer, onEnd });
    this.#ofPeer.set(peer, ofPeer + 1);
    // grpc-js emits this event at the end of every call. The stream has ended only if the server ended the call.
    call.once('cancelled', () => {
      this.#end(call, call.writableEnded ? status.OK : status.CANCELLED);
    });
    if (full) this.#fail(call, refusal());
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
    const open = this.#open.get(call);
    if (open === undefined) return;
    this.#open.delete(call);
    const left = (this.#ofPeer.get(open.peer) ?? 0) - 1;
    if (left > 0) this.#ofPeer.set(open.peer, left);
    else this.#ofPeer.delete(open.peer);
    open.onEnd(code, reason);
  }
}
