import {
  Metadata,
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
} from '@grpc/grpc-js';
import type { Cancellation, Reply } from '../calls/call.js';
import { EndOfTurn } from '../calls/end-of-turn.js';
import type { Pipeline } from '../calls/pipeline.js';
import { TIMEOUT_MS_KEY, UNKNOWN_METHOD, UNKNOWN_PATH_KEY } from './call-headers.js';

const NO_BYTES = new Uint8Array();
/** A deadline that has passed. */
const PASSED = -Infinity;

/**
 * Passes unary calls and calls of unknown methods to the pipeline, below the handlers of grpc-js, which cost a quarter
 * of a cached get. Those handlers serve the other methods.
 *
 * @param paths the methods of the pipeline
 * @param deadlineMs the time limit of a call, in milliseconds from its headers
 */
export function takingUnaryCalls(
  pipeline: Pipeline,
  paths: ReadonlySet<string>,
  deadlineMs: number,
): ServerInterceptor {
  return ({ path }, innermost) => {
    const taken = path === UNKNOWN_METHOD || paths.has(path);
    // This wrapper drops a half-close after a cancellation: else the handler would not notice that its call has ended.
    if (!taken) return new ServerInterceptingCall(innermost);
    const call = new UnaryCall(path, innermost, pipeline, deadlineMs);
    // grpc-js calls only `start` on this object, since no handler responds.
    return call as unknown as ServerInterceptingCall;
  };
}

const sending = new EndOfTurn<{ readonly call: UnaryCall; readonly reply: Reply }>(({ call, reply }) => {
  call.send(reply);
});
const incomplete = new EndOfTurn<UnaryCall>((call) => {
  call.limitRequest();
});

/**
 * A unary call. It goes to the pipeline when its request is complete: headers, one message and the end of the stream. A
 * call whose request is incomplete at the deadline goes to the pipeline to be refused.
 */
export class UnaryCall implements Cancellation {
  cancelled = false;
  readonly #path: string;
  readonly #innermost: ServerInterceptingCallInterface;
  readonly #pipeline: Pipeline;
  /** In milliseconds on the clock of `performance.now()`. */
  #deadline: number;
  #metadata = new Metadata();
  #messages = 0;
  /** The message, while it is the only one. */
  #message: Buffer | undefined;
  #requestTimer: NodeJS.Timeout | undefined;
  #begun = false;
  #answered = false;
  #onClientGone: (() => void) | undefined;

  constructor(
    path: string,
    innermost: ServerInterceptingCallInterface,
    pipeline: Pipeline,
    deadlineMs: number,
  ) {
    this.#path = path;
    this.#innermost = innermost;
    this.#pipeline = pipeline;
    this.#deadline = performance.now() + deadlineMs;
  }

  /** Called by grpc-js with a listener, which is ignored, since it leads to a handler. */
  start(): void {
    this.#innermost.start(this);
  }

  onCancelled(listener: () => void): void {
    this.#onClientGone = listener;
  }

  onReceiveMetadata(metadata: Metadata): void {
    this.#metadata = metadata;
    const [timeoutMs] = metadata.get(TIMEOUT_MS_KEY);
    if (timeoutMs !== undefined)
      this.#deadline = Math.min(this.#deadline, performance.now() + Number(timeoutMs));
    incomplete.add(this);
    this.#innermost.startRead();
  }

  onReceiveMessage(message: Buffer): void {
    this.#messages += 1;
    this.#message = this.#messages === 1 ? message : undefined;
    // A client to which the method is a streaming one may wait for a response before it ends its request.
    if (this.#path === UNKNOWN_METHOD) this.#begin();
    else this.#innermost.startRead();
  }

  onReceiveHalfClose(): void {
    this.#begin();
  }

  /** Called by grpc-js at the end of every call whose metadata it has delivered, whoever ended the call. */
  onCancel(): void {
    clearTimeout(this.#requestTimer);
    if (this.#answered) return;
    this.cancelled = true;
    this.#onClientGone?.();
  }

  /** Starts a timer for a request that is not complete after its first turn of the event loop. Nearly all are. */
  limitRequest(): void {
    if (this.#begun || this.cancelled) return;
    const leftMs = Math.max(0, this.#deadline - performance.now());
    this.#requestTimer = setTimeout(() => {
      this.#begin(PASSED);
    }, leftMs);
  }

  #begin(deadline = this.#deadline): void {
    if (this.#begun || this.cancelled) return;
    this.#begun = true;
    clearTimeout(this.#requestTimer);
    const known = this.#path !== UNKNOWN_METHOD;
    const reply = this.#pipeline({
      path: known ? this.#path : String(this.#metadata.get(UNKNOWN_PATH_KEY)[0]),
      message: known ? this.#message : NO_BYTES,
      metadata: this.#metadata,
      deadline,
      cancellation: this,
    });
    if (!(reply instanceof Promise)) this.#answer(reply);
    else {
      void reply.then((later) => {
        this.#answer(later);
      });
    }
  }

  #answer(reply: Reply): void {
    if (this.#answered || this.cancelled) return;
    this.#answered = true;
    this.#message = undefined;
    sending.add({ call: this, reply });
  }

  /** Hands the reply to grpc-js. */
  send({ code, details, message, trailers }: Reply): void {
    // Does not wait for the message to be written: otherwise the trailers would not be sent together with it.
    if (message !== undefined) this.#innermost.sendMessage(message, () => undefined);
    this.#innermost.sendStatus({ code, details, metadata: trailers });
  }
}
