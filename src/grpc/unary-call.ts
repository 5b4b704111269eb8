import type { ServerHttp2Stream } from 'node:http2';
import {
  Metadata,
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
  status,
} from '@grpc/grpc-js';
import type { Cancellation, EarlyEnd, Reply } from '../calls/call.js';
import { ImmediateBatch } from '../calls/immediate-batch.js';
import type { Pipeline } from '../calls/pipeline.js';
import { TIMEOUT_MS_KEY, UNKNOWN_METHOD, UNKNOWN_PATH_KEY } from './call-headers.js';

const NO_BYTES = new Uint8Array();
/** A deadline that has passed. */
const PASSED = -Infinity;

/** The parts of the calls' streams that are used. */
type CallStream = Pick<ServerHttp2Stream, 'sentHeaders'>;

interface Origin {
  readonly stream: CallStream;
  readonly connection: { readonly id: string };
}

/**
 * Passes unary calls and calls of unknown methods to the pipeline, and bypasses the handlers of grpc-js: they would take
 * a quarter of the time of a cached get. Those handlers serve the other methods.
 *
 * @param paths the methods of the pipeline
 * @param deadlineMs the time limit of a call, in milliseconds from its headers
 * @param origin where the call comes from that grpc-js is creating. Valid only during a call of the interceptor: grpc-js
 *   creates each call before the next stream is passed to it
 */
export function unaryCallInterceptor(
  pipeline: Pipeline,
  paths: ReadonlySet<string>,
  deadlineMs: number,
  origin: () => Origin,
): ServerInterceptor {
  return ({ path }, innermost) => {
    const taken = path === UNKNOWN_METHOD || paths.has(path);
    if (!taken) return new CallOnConnection(innermost, origin().connection.id);
    return new GrpcJsCall(path, innermost, pipeline, deadlineMs, origin().stream);
  };
}

/**
 * A call of a handler of grpc-js. Its peer is its connection, since the clients of a Unix socket have no address. It
 * extends `ServerInterceptingCall` even though it changes only `getPeer`: that class drops a half-close that comes after
 * a cancellation, which would hide the cancellation from the handler.
 */
class CallOnConnection extends ServerInterceptingCall {
  readonly #connection: string;

  constructor(innermost: ServerInterceptingCallInterface, connection: string) {
    super(innermost);
    this.#connection = connection;
  }

  override getPeer(): string {
    return this.#connection;
  }
}

const batch = new ImmediateBatch<GrpcJsCall>((call) => {
  call.act();
});

/**
 * - `receiving`: the request is incomplete.
 * - `received`: the request is complete, and is passed to the pipeline at the end of this turn.
 * - `handled`: the pipeline has the call.
 * - `answered`: there is a reply, which is sent at the end of this turn.
 * - `cancelled`: the call has ended before it was answered, so nothing is sent. If the pipeline did not have it yet, it is
 *   passed on to be observed.
 */
type State = 'receiving' | 'received' | 'handled' | 'answered' | 'cancelled';

/**
 * A unary call, between grpc-js and the pipeline. It is passed to the pipeline once its request is complete: headers, one
 * message and the end of the stream. If the request is still incomplete at the deadline, the call is passed on to be
 * refused; if the call ends before, it is passed on to be observed.
 *
 * It begins and replies only at the end of a turn of the event loop. Node reports the reset of a stream first as its end,
 * and only later in that turn as a reset, so that a call that was reset is known to be cancelled before it begins. And
 * replies that leave together cost less, as `ImmediateBatch` explains.
 *
 * Of its base class, grpc-js calls only `start`, since no handler responds.
 */
export class GrpcJsCall extends ServerInterceptingCall implements Cancellation {
  readonly #path: string;
  readonly #innermost: ServerInterceptingCallInterface;
  readonly #pipeline: Pipeline;
  readonly #stream: CallStream;
  /** In milliseconds on the clock of `performance.now()`. */
  #deadline: number;
  #metadata = new Metadata();
  #messages = 0;
  /** The message, while it is the only message. */
  #message: Buffer | undefined;
  #state: State = 'receiving';
  /** Whether the call acts at the end of this turn. */
  #due = false;
  /** Passes the call on at its deadline. Set while the request is incomplete. */
  #requestTimer: NodeJS.Timeout | undefined;
  /** The reply, until it is sent. */
  #reply: Reply | undefined;
  #onClientGone: (() => void) | undefined;

  constructor(
    path: string,
    innermost: ServerInterceptingCallInterface,
    pipeline: Pipeline,
    deadlineMs: number,
    stream: CallStream,
  ) {
    super(innermost);
    this.#path = path;
    this.#innermost = innermost;
    this.#pipeline = pipeline;
    this.#stream = stream;
    this.#deadline = performance.now() + deadlineMs;
  }

  get cancelled(): boolean {
    return this.#state === 'cancelled';
  }

  /** Called by grpc-js with a listener, which is ignored, since it leads to a handler. */
  override start(): void {
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
    // If the request is still incomplete then, its time is limited; most calls need no timer.
    this.#actAtEndOfTurn();
    this.#innermost.startRead();
  }

  onReceiveMessage(message: Buffer): void {
    this.#messages += 1;
    this.#message = this.#messages === 1 ? message : undefined;
    // A client that takes the method for a streaming method may wait for a response before it ends its request.
    if (this.#path === UNKNOWN_METHOD) this.onReceiveHalfClose();
    else this.#innermost.startRead();
  }

  onReceiveHalfClose(): void {
    // Its deadline may have passed; or its method is unknown, and its first message was enough.
    if (this.#state !== 'receiving') return;
    this.#state = 'received';
    this.#actAtEndOfTurn();
  }

  /** Called once by grpc-js, at the end of every call whose metadata it has delivered, whoever ended the call. */
  onCancel(): void {
    clearTimeout(this.#requestTimer);

    const before = this.#state;
    if (before === 'answered') return;
    this.#state = 'cancelled';
    if (before === 'handled') this.#onClientGone?.();
    else this.#passToPipeline(this.#deadline, earlyEndOf(this.#stream));
  }

  #actAtEndOfTurn(): void {
    if (this.#due) return;
    this.#due = true;
    batch.add(this);
  }

  /**
   * Called at the end of a turn, and once more in the same pass if the pipeline replies at once. Sends the reply if there
   * is one; else passes the call to the pipeline if its request is complete; else limits the time for the rest of the
   * request.
   */
  act(): void {
    this.#due = false;
    if (this.#reply !== undefined) this.#send(this.#reply);
    else if (this.#state === 'received') this.#handle(this.#deadline);
    else if (this.#state === 'receiving') this.#limitRequestTime();
  }

  #limitRequestTime(): void {
    const remainingMs = Math.max(0, this.#deadline - performance.now());
    this.#requestTimer = setTimeout(() => {
      // A request that was completed in this turn is passed on at its end.
      if (this.#state === 'receiving') this.#handle(PASSED);
    }, remainingMs);
  }

  #handle(deadline: number): void {
    clearTimeout(this.#requestTimer);
    this.#state = 'handled';
    this.#passToPipeline(deadline);
  }

  #passToPipeline(deadline: number, end?: EarlyEnd): void {
    const known = this.#path !== UNKNOWN_METHOD;
    const reply = this.#pipeline({
      path: known ? this.#path : String(this.#metadata.get(UNKNOWN_PATH_KEY)[0]),
      message: known ? this.#message : NO_BYTES,
      metadata: this.#metadata,
      deadline,
      cancellation: this,
      end,
    });

    if (reply instanceof Promise)
      void reply.then((later) => {
        this.#answer(later);
      });
    else this.#answer(reply);
  }

  #answer(reply: Reply): void {
    if (this.cancelled) return;
    this.#state = 'answered';
    this.#message = undefined;
    this.#reply = reply;
    this.#actAtEndOfTurn();
  }

  /** Hands the reply to grpc-js, which copies it. */
  #send({ code, details, message, trailers }: Reply): void {
    this.#reply = undefined;
    // Does not wait for the message to be written: otherwise the trailers would not be sent together with it.
    if (message !== undefined) this.#innermost.sendMessage(message, () => undefined);
    this.#innermost.sendStatus({ code, details, metadata: trailers });
  }
}

/** The codes with which grpc-js itself ends a call whose request it cannot read. */
const ENDS_OF_GRPC_JS: Readonly<Record<string, EarlyEnd>> = {
  [status.RESOURCE_EXHAUSTED]: { code: status.RESOURCE_EXHAUSTED, reason: 'REQUEST_TOO_LARGE' },
  [status.UNIMPLEMENTED]: { code: status.UNIMPLEMENTED, reason: 'REQUEST_MALFORMED' },
  [status.INTERNAL]: { code: status.INTERNAL, reason: 'REQUEST_MALFORMED' },
};
const CLIENT_GONE: EarlyEnd = { code: status.CANCELLED, reason: 'CANCELLED' };

/** How a call ended whose request was not complete: grpc-js ended it, or its stream was reset. */
function earlyEndOf({ sentHeaders }: CallStream): EarlyEnd {
  const sent = (sentHeaders as typeof sentHeaders | undefined)?.['grpc-status'];
  return ENDS_OF_GRPC_JS[String(sent)] ?? CLIENT_GONE;
}
