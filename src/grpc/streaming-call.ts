import {
  type Metadata,
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  status,
} from '@grpc/grpc-js';
import { failureReply } from '../calls/failure-reply.js';
import {
  type CallError,
  deadlineExceeded,
  overloaded,
  type Reason,
  requestUnreadable,
  toCallFailure,
  watchUnsupported,
} from '../calls/failures.js';
import { REQUEST_ID } from '../calls/metadata-keys.js';
import { requestIdOf } from '../calls/request-id.js';
import type { CallsEndedAtClose } from './calls-ended-at-close.js';
import type { EarlyAnswers, SentStatus } from './early-answer.js';
import { failureBehind } from './failure-behind.js';
import type { MessageGates } from './message-gate.js';

/** The most calls at one time, on all connections. */
const MOST_CALLS = 1_024;

/** Limits of streaming calls. */
export interface StreamingCallsOptions {
  /** The paths of the streaming methods, each with the time limit of a call in milliseconds, or Infinity. */
  readonly longestMs: ReadonlyMap<string, number>;
  /** The time limit for the complete request of a call that is itself unlimited, in milliseconds. */
  readonly requestMs: number;
  /** The most calls at one time. Default: 1,024. */
  readonly most?: number | undefined;
  /** The largest request message, in bytes; grpc-js refuses larger ones. */
  readonly maxMessageBytes: number;
  /** The limit on all trailers of an answer, in bytes. */
  readonly maxTrailerBytes: number;
  readonly earlyAnswers: EarlyAnswers;
  readonly gates: MessageGates;
  /** Default: none. */
  readonly observe?: ObserveStreamingCall | undefined;
}

/**
 * Observes a streaming call, as metrics do; called when the call has begun.
 *
 * @returns called once, at the end of the call, with its code, and with the reason if the service itself has ended it
 */
export type ObserveStreamingCall = (path: string) => (code: status, reason?: Reason) => void;

/** The calls that have begun and not ended. */
export interface OpenCalls {
  readonly all: Set<StreamingCall>;
  /** Those with a time limit. */
  readonly limited: CallsEndedAtClose;
}

/** A streaming call of one of grpc-js's own handlers. */
export class StreamingCall extends ServerInterceptingCall {
  readonly #path: string;
  readonly #options: StreamingCallsOptions;
  readonly #open: OpenCalls;
  /** Whether the time limit applies only to the request. */
  readonly #lasts: boolean;
  readonly #limitMs: number;
  readonly #messageRead: () => void;
  #requestId = '';
  /** Calls the observer at the end, once. */
  #onEnd: ReturnType<ObserveStreamingCall> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** The answers that the transport has not yet taken. */
  #untaken = 0;
  #wantsRead = false;
  /** Whether a status was sent. */
  #ended = false;

  constructor(
    call: ServerInterceptingCallInterface,
    path: string,
    limitMs: number,
    options: StreamingCallsOptions,
    open: OpenCalls,
  ) {
    super(call);
    this.#path = path;
    this.#options = options;
    this.#open = open;
    this.#lasts = limitMs === Infinity;
    this.#limitMs = this.#lasts ? options.requestMs : limitMs;
    this.#messageRead = options.gates.gateStreaming();
    const leftMs = Math.min(Number(call.getDeadline()) - Date.now(), this.#limitMs);
    const sendStatus = options.earlyAnswers.sendStatusOf(call, performance.now() + leftMs);
    // Every end of a call comes through here, also that by grpc-js itself, which would lose its status if the handler
    // wrote on.
    call.sendStatus = (sent) => {
      // Only grpc-js itself sends a status without metadata.
      if (!sent.metadata) {
        this.fail(failureBehind(sent.code, options.maxMessageBytes, false));
        return;
      }
      this.#ended = true;
      this.#observeEnd(sent.code);
      sendStatus(sent);
    };
  }

  override start(listener: Parameters<ServerInterceptingCallInterface['start']>[0]): void {
    super.start({
      onReceiveMetadata: (metadata) => {
        this.#begin(metadata);
        if (!this.#ended) listener.onReceiveMetadata(metadata);
      },
      onReceiveMessage: (message) => {
        this.#messageRead();
        listener.onReceiveMessage(message);
      },
      onReceiveHalfClose: () => {
        if (this.#lasts) this.#unlimit();
        listener.onReceiveHalfClose();
      },
      onCancel: () => {
        this.#unlimit();
        this.#open.all.delete(this);
        this.#observeEnd(status.CANCELLED);
        listener.onCancel();
      },
    });
  }

  override startRead(): void {
    this.#wantsRead = true;
    this.#readOn();
  }

  override sendMessage(message: unknown, callback: () => void): void {
    if (this.#ended) return;
    this.#untaken += 1;
    super.sendMessage(message, () => {
      this.#untaken -= 1;
      callback();
      this.#readOn();
    });
  }

  /** The first status ends the call; a handler that has not noticed yet may send another. */
  override sendStatus(sent: SentStatus): void {
    if (this.#ended) return;
    // By grpc-js for its handler: the request of a watch has no message, or more than one.
    if (!sent.metadata && sent.code === status.UNIMPLEMENTED) this.fail(requestUnreadable());
    else super.sendStatus(sent);
  }

  fail(error: CallError): void {
    const { maxTrailerBytes } = this.#options;
    const { code, details, trailers } = failureReply(toCallFailure(error), this.#requestId, maxTrailerBytes);
    this.#observeEnd(code, error.reason);
    this.sendStatus({ code, details, metadata: trailers });
  }

  /** Takes the call in, or answers it. */
  #begin(metadata: Metadata): void {
    const { most = MOST_CALLS, observe } = this.#options;
    const { all, limited } = this.#open;
    this.#requestId = requestIdOf(metadata.get(REQUEST_ID)[0]);
    // The handlers use none of it, and grpc-js keeps it for the whole call.
    for (const key of Object.keys(metadata.getMap())) metadata.remove(key);
    this.#onEnd = observe?.(this.#path);
    if (all.size >= most) {
      this.fail(this.#lasts ? watchUnsupported() : overloaded('Too many streaming calls are open.'));
      return;
    }
    all.add(this);
    this.#timer = setTimeout(() => {
      this.fail(deadlineExceeded());
    }, this.#limitMs);
    // Last, since it ends the call of a server that is closing.
    limited.add(this);
  }

  #readOn(): void {
    if (!this.#wantsRead || this.#untaken > 0) return;
    this.#wantsRead = false;
    super.startRead();
  }

  #unlimit(): void {
    clearTimeout(this.#timer);
    this.#open.limited.delete(this);
  }

  #observeEnd(code: status, reason?: Reason): void {
    this.#onEnd?.(code, reason);
    this.#onEnd = undefined;
  }
}
