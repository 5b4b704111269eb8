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

/** Where a call comes from. */
interface Origin {
  readonly stream: CallStream;
  readonly connection: { readonly id: string };
}

/**
 * Passes unary calls and calls of unknown methods to the pipeline, below the handlers of grpc-js, which cost a quarter
 * of a cached get. Those handlers serve the other methods.
 *
 * @param paths the methods of the pipeline
 * @param deadlineMs the time limit of a call, in milliseconds from its headers
 * @param origin of the call that grpc-js is creating
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
 * A call of a handler of grpc-js. Its peer is its connection, since the clients of a Unix socket have no address. The
 * base class drops a half-close after a cancellation: else the handler would not notice that its call has ended.
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
  call.proceed();
});

/**
 * A unary call. It goes to the pipeline when its request is complete: headers, one message and the end of the stream. A
 * call whose request is incomplete at the deadline goes to the pipeline to be refused, and one that ends before, to be
 * observed. Node reports the reset of a stream first as its end, so a call begins only at the end of the turn. Of its base
 * class, grpc-js calls only `start`, since no handler responds.
 */
export class GrpcJsCall extends ServerInterceptingCall implements Cancellation {
  cancelled = false;
  readonly #path: string;
  readonly #innermost: ServerInterceptingCallInterface;
  readonly #pipeline: Pipeline;
  readonly #stream: CallStream;
  /** In milliseconds on the clock of `performance.now()`. */
  #deadline: number;
  #metadata = new Metadata();
  #messages = 0;
  /** The message, while it is the only one. */
  #message: Buffer | undefined;
  #requestTimer: NodeJS.Timeout | undefined;
  /** Whether the call proceeds at the end of this turn. */
  #due = false;
  #complete = false;
  #begun = false;
  #replied = false;
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
    this.#proceedLater();
    this.#innermost.startRead();
  }

  onReceiveMessage(message: Buffer): void {
    this.#messages += 1;
    this.#message = this.#messages === 1 ? message : undefined;
    // A client to which the method is a streaming one may wait for a response before it ends its request.
    if (this.#path === UNKNOWN_METHOD) this.onReceiveHalfClose();
    else this.#innermost.startRead();
  }

  onReceiveHalfClose(): void {
    this.#complete = true;
    this.#proceedLater();
  }

  /** Called by grpc-js at the end of every call whose metadata it has delivered, whoever ended the call. */
  onCancel(): void {
    clearTimeout(this.#requestTimer);

    if (this.#replied) return;
    this.cancelled = true;
    if (this.#begun) this.#onClientGone?.();
    else this.#begin(this.#deadline, earlyEndOf(this.#stream));
  }

  #proceedLater(): void {
    if (this.#due) return;
    this.#due = true;
    batch.add(this);
  }

  /** Sends the reply, begins a complete call, or limits the time for the rest of the request. */
  proceed(): void {
    this.#due = false;
    if (this.#reply !== undefined) this.#send(this.#reply);
    else if (this.#begun) return;
    else if (this.#complete) this.#begin();
    else {
      const remainingMs = Math.max(0, this.#deadline - performance.now());
      this.#requestTimer = setTimeout(() => {
        this.#begin(PASSED);
      }, remainingMs);
    }
  }

  #begin(deadline = this.#deadline, end?: EarlyEnd): void {
    if (this.#begun) return;
    this.#begun = true;
    clearTimeout(this.#requestTimer);

    const known = this.#path !== UNKNOWN_METHOD;
    const reply = this.#pipeline({
      path: known ? this.#path : String(this.#metadata.get(UNKNOWN_PATH_KEY)[0]),
      message: known ? this.#message : NO_BYTES,
      metadata: this.#metadata,
      deadline,
      cancellation: this,
      end,
    });

    if (!(reply instanceof Promise)) this.#answer(reply);
    else {
      void reply.then((later) => {
        this.#answer(later);
      });
    }
  }

  #answer(reply: Reply): void {
    if (this.cancelled) return;
    this.#replied = true;
    this.#message = undefined;
    this.#reply = reply;
    this.#proceedLater();
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
