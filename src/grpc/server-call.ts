import { performance } from 'node:perf_hooks';
import { Metadata, type ServerInterceptingCallInterface, type status } from '@grpc/grpc-js';
import { EndOfTurn } from '../calls/end-of-turn.js';
import type { Cancellation, Reply } from '../calls/call.js';
import { type CallError, requestUnreadable } from '../calls/failures.js';
import type { Pipeline } from '../calls/pipeline.js';
import type { CallsEndedAtClose, EndableCall } from './calls-ended-at-close.js';
import type { EarlyAnswers, SentStatus } from './early-answer.js';
import { failureBehind } from './failure-behind.js';
import type { MessageGates } from './message-gate.js';
import { UNKNOWN_METHOD, UNKNOWN_PATH_KEY } from './strict-server.js';

/** The calls that the pipeline answers, and their limits. */
export interface AnsweredCalls {
  readonly pipeline: Pipeline;
  /** The paths of the unary methods that the pipeline knows. */
  readonly paths: ReadonlySet<string>;
  /** The paths of the methods that take no compressed messages. */
  readonly uncompressed: ReadonlySet<string>;
  /** The time limit of one call, in milliseconds, from its first byte. */
  readonly deadlineMs: number;
  /** The largest request message, in bytes; grpc-js refuses larger ones. */
  readonly maxMessageBytes: number;
  readonly earlyAnswers: EarlyAnswers;
  readonly gates: MessageGates;
}

const NO_BYTES = Buffer.alloc(0);

const sending = new EndOfTurn<{ readonly call: ServerCall; readonly reply: Reply }>(({ call, reply }) => {
  call.send(reply);
});
const waiting = new EndOfTurn<ServerCall>((call) => {
  call.waitForMessage();
});

/** A message that has not arrived yet. */
interface LateMessage {
  resolve(message: Buffer): void;
  reject(failure: CallError): void;
}

/** The only translation between the calls and replies of grpc-js and ours. */
export class ServerCall implements Cancellation, EndableCall {
  cancelled = false;
  readonly #path: string;
  readonly #innermost: ServerInterceptingCallInterface;
  readonly #sendStatus: (status: SentStatus) => void;
  readonly #answered: AnsweredCalls;
  readonly #deadline: number;
  readonly #lateCalls: CallsEndedAtClose;
  #metadata = new Metadata();
  #message: Buffer | undefined;
  /** Whether the message is complete, or has failed. */
  #received = false;
  #lateMessage: LateMessage | undefined;
  #ended = false;
  #onClientGone: (() => void) | undefined;

  constructor(
    path: string,
    innermost: ServerInterceptingCallInterface,
    answered: AnsweredCalls,
    lateCalls: CallsEndedAtClose,
  ) {
    this.#path = path;
    this.#innermost = innermost;
    this.#answered = answered;
    // grpc-js counts on the wall clock, which may jump from now on.
    const leftMs = Math.min(Number(innermost.getDeadline()) - Date.now(), answered.deadlineMs);
    this.#deadline = performance.now() + leftMs;
    this.#sendStatus = answered.earlyAnswers.sendStatusOf(innermost, this.#deadline);
    answered.gates.gateUnary();
    this.#lateCalls = lateCalls;
  }

  /** Called by grpc-js; its listener leads to a handler that is never reached. */
  start(): void {
    this.#innermost.start(this);
  }

  onCancelled(listener: () => void): void {
    this.#onClientGone = listener;
  }

  onReceiveMetadata(metadata: Metadata): void {
    this.#metadata = metadata;
    if (this.#path === UNKNOWN_METHOD) {
      // Whatever kind of method the client expects, it learns at once that there is none.
      this.#received = true;
      this.#run(String(metadata.get(UNKNOWN_PATH_KEY)[0]), NO_BYTES);
      return;
    }
    // Nearly all messages arrive with the headers, so that the whole call runs at once. It cannot start earlier:
    // grpc-js does not report the end of a call that does not get this far.
    waiting.add(this);
    this.#innermost.startRead();
  }

  onReceiveMessage(message: Buffer): void {
    if (this.#message === undefined) {
      this.#message = message;
      this.#innermost.startRead();
    } else {
      this.fail(requestUnreadable());
    }
  }

  onReceiveHalfClose(): void {
    if (this.#message === undefined) this.fail(requestUnreadable());
    else this.#receive(this.#message);
  }

  /** Called by grpc-js at the end of every call whose metadata it has delivered, whoever ended the call. */
  onCancel(): void {
    this.#lateCalls.delete(this);
    if (this.#ended) return;
    this.cancelled = true;
    this.#onClientGone?.();
    this.#lateMessage?.reject(requestUnreadable());
  }

  /** Ends the call as grpc-js would, with the pipeline's reply for the same failure. */
  endBy(code: status): void {
    const { maxMessageBytes, uncompressed } = this.#answered;
    this.fail(failureBehind(code, maxMessageBytes, !uncompressed.has(this.#path)));
  }

  /** Lets the pipeline start without the message: the guard does not need it, and the deadline covers the wait. */
  waitForMessage(): void {
    if (this.#received || this.cancelled) return;
    const message = new Promise<Buffer>((resolve, reject) => {
      this.#lateMessage = { resolve, reject };
    });
    // If the guard refuses the call, nobody waits for the message.
    message.catch(() => undefined);
    this.#run(this.#path, message);
    if (!this.#ended) this.#lateCalls.add(this);
  }

  /** Gives the pipeline a failure in place of the message. */
  fail(failure: CallError): void {
    // grpc-js may also fail a call that has already failed.
    if (this.#received || this.#ended) return;
    this.#received = true;
    this.#lateCalls.delete(this);
    if (this.#lateMessage !== undefined) this.#lateMessage.reject(failure);
    else {
      const message = Promise.reject<Buffer>(failure);
      message.catch(() => undefined);
      this.#run(this.#path, message);
    }
  }

  #receive(message: Buffer): void {
    if (this.#received) return;
    this.#received = true;
    this.#lateCalls.delete(this);
    if (this.#lateMessage !== undefined) this.#lateMessage.resolve(message);
    else this.#run(this.#path, message);
  }

  #run(path: string, message: Buffer | Promise<Buffer>): void {
    const call = {
      path,
      message,
      metadata: this.#metadata,
      deadline: this.#deadline,
      cancellation: this,
    };
    const reply = this.#answered.pipeline(call);
    if (!(reply instanceof Promise)) this.#answer(reply);
    else {
      void reply.then((later) => {
        this.#answer(later);
      });
    }
  }

  #answer(reply: Reply): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#message = undefined;
    this.#lateCalls.delete(this);
    // The pipeline holds a place for the call until the wait for its message ends.
    if (!this.#received) this.#lateMessage?.reject(requestUnreadable());
    sending.add({ call: this, reply });
  }

  /** Hands the reply to grpc-js. */
  send({ code, details, message, trailers }: Reply): void {
    // Not waiting for the message to be written lets the trailers leave with it.
    if (message !== undefined) this.#innermost.sendMessage(message, () => undefined);
    this.#sendStatus({ code, details, metadata: trailers });
  }
}
