import {
  type Metadata,
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
  status,
} from '@grpc/grpc-js';
import type { Reply } from '../calls/call.js';
import { failureReply } from '../calls/failure-reply.js';
import {
  type CallError,
  compressionUnsupported,
  deadlineExceeded,
  overloaded,
  type Reason,
  toCallFailure,
  watchUnsupported,
} from '../calls/failures.js';
import { REQUEST_ID } from '../calls/metadata-keys.js';
import { requestIdOf } from '../calls/request-id.js';
import { CallsEndedAtClose } from './calls-ended-at-close.js';
import type { EarlyAnswers, SentStatus } from './early-answer.js';

/** Limits of streaming calls. */
interface StreamingCallsOptions {
  /** The paths of the streaming methods, each with the time limit of a call in milliseconds, or Infinity. */
  readonly longestMs: ReadonlyMap<string, number>;
  /** The time limit for the complete request of a call that is itself unlimited, in milliseconds. */
  readonly requestMs: number;
  /** The most calls at one time. */
  readonly most: number;
  /** The limit on all trailers of an answer, in bytes. */
  readonly maxTrailerBytes: number;
  readonly earlyAnswers: EarlyAnswers;
  /** Default: none. */
  readonly observe?: ObserveStreamingCall | undefined;
}

/**
 * Observes a streaming call, as metrics do; called when the call has begun.
 *
 * @returns called once, at the end of the call, with its code, and with the reason if the service itself has ended it
 */
export type ObserveStreamingCall = (path: string) => (code: status, reason?: Reason) => void;

/**
 * The streaming calls of grpc-js's own handlers: limited in number and time, and read no faster than their answers are
 * taken.
 */
export class StreamingCalls {
  readonly #options: StreamingCallsOptions;
  readonly #open = new Set<StreamingCall>();
  readonly #limited = new CallsEndedAtClose();

  constructor(options: StreamingCallsOptions) {
    this.#options = options;
  }

  readonly interceptor: ServerInterceptor = ({ path }, call) => {
    const { longestMs, requestMs } = this.#options;
    const limitMs = longestMs.get(path);
    // grpc-js needs only the interface, although its type names the class.
    if (limitMs === undefined) return call as unknown as ServerInterceptingCall;
    const lasts = limitMs === Infinity;
    return new StreamingCall(call, this, path, lasts ? requestMs : limitMs, lasts);
  };

  /** Ends the calls with a time limit, and accepts no more. The handlers end the others. */
  close(): void {
    this.#limited.close();
  }

  /** Admits a call that has begun, or answers it. */
  admit(call: StreamingCall): boolean {
    if (this.#open.size >= this.#options.most) {
      call.fail(call.lasts ? watchUnsupported() : overloaded('Too many streaming calls are open.'));
      return false;
    }
    this.#open.add(call);
    this.#limited.add(call);
    return !call.ended;
  }

  /** How the statuses of a call that begins now are sent. */
  sendStatusOf(call: ServerInterceptingCallInterface, limitMs: number): (status: SentStatus) => void {
    const leftMs = Math.min(Number(call.getDeadline()) - Date.now(), limitMs);
    return this.#options.earlyAnswers.sendStatusOf(call, performance.now() + leftMs);
  }

  /** Tells the observer of a call. */
  observe(path: string): ReturnType<ObserveStreamingCall> | undefined {
    return this.#options.observe?.(path);
  }

  /** Removes the time limit of a call. */
  unlimit(call: StreamingCall): void {
    this.#limited.delete(call);
  }

  /** The reply to a failure of a call. */
  replyTo(error: CallError, requestId: string): Reply {
    return failureReply(toCallFailure(error), requestId, this.#options.maxTrailerBytes);
  }

  remove(call: StreamingCall): void {
    this.#open.delete(call);
    this.#limited.delete(call);
  }
}

type Listener = Parameters<ServerInterceptingCallInterface['start']>[0];

class StreamingCall extends ServerInterceptingCall {
  readonly #calls: StreamingCalls;
  readonly #path: string;
  readonly #limitMs: number;
  /** Whether the limit applies only to the request. */
  readonly lasts: boolean;
  #requestId = '';
  /** Tells the observer about the end, once. */
  #tellEnd: ReturnType<ObserveStreamingCall> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** The answers that the transport has not yet taken. */
  #untaken = 0;
  #wantsRead = false;
  #ended = false;

  constructor(
    call: ServerInterceptingCallInterface,
    calls: StreamingCalls,
    path: string,
    limitMs: number,
    lasts: boolean,
  ) {
    super(call);
    const sendStatus = calls.sendStatusOf(call, limitMs);
    // Every end of a call comes through here, also that by grpc-js itself, which would lose its status if the handler
    // wrote on.
    call.sendStatus = (sent) => {
      // Only grpc-js itself sends a status without metadata; this one, for a compressed message.
      if (sent.code === status.UNIMPLEMENTED && !sent.metadata) {
        this.fail(compressionUnsupported());
        return;
      }
      this.#ended = true;
      this.#observeEnd(sent.code);
      sendStatus(sent);
    };
    this.#calls = calls;
    this.#path = path;
    this.#limitMs = limitMs;
    this.lasts = lasts;
  }

  override start(listener: Listener): void {
    const onReceiveMetadata = (metadata: Metadata): void => {
      this.#requestId = requestIdOf(metadata.get(REQUEST_ID)[0]);
      // The handlers use none of it, and grpc-js keeps it for the whole call.
      for (const key of Object.keys(metadata.getMap())) metadata.remove(key);
      this.#tellEnd = this.#calls.observe(this.#path);
      if (!this.#calls.admit(this)) return;
      this.#timer = setTimeout(() => {
        this.fail(deadlineExceeded());
      }, this.#limitMs);
      listener.onReceiveMetadata(metadata);
    };
    super.start({
      onReceiveMetadata,
      onReceiveMessage: (message) => {
        listener.onReceiveMessage(message);
      },
      onReceiveHalfClose: () => {
        if (this.lasts) {
          this.#stopTimer();
          this.#calls.unlimit(this);
        }
        listener.onReceiveHalfClose();
      },
      onCancel: () => {
        this.#stopTimer();
        this.#calls.remove(this);
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
    if (!this.#ended) super.sendStatus(sent);
  }

  /** Whether a status was sent. */
  get ended(): boolean {
    return this.#ended;
  }

  fail(error: CallError): void {
    const { code, details, trailers } = this.#calls.replyTo(error, this.#requestId);
    this.#observeEnd(code, error.reason);
    this.sendStatus({ code, details, metadata: trailers });
  }

  #readOn(): void {
    if (!this.#wantsRead || this.#untaken > 0) return;
    this.#wantsRead = false;
    super.startRead();
  }

  #observeEnd(code: status, reason?: Reason): void {
    this.#tellEnd?.(code, reason);
    this.#tellEnd = undefined;
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
