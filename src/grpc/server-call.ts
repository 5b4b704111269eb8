import {
  Metadata,
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
  status,
} from '@grpc/grpc-js';
import { EndOfTurn } from '../calls/end-of-turn.js';
import type { Cancellation, Reply } from '../calls/call.js';
import { completeReply } from './framework-status.js';
import type { Pipeline } from '../calls/pipeline.js';
import { UNKNOWN_METHOD, UNKNOWN_PATH_KEY } from './strict-server.js';

/** The calls that the pipeline answers, and how long they may take. */
export interface AnsweredCalls {
  readonly pipeline: Pipeline;
  /** The paths of the unary methods that the pipeline knows. */
  readonly paths: ReadonlySet<string>;
  /** The longest time of one call, in milliseconds, from its first byte on. */
  readonly deadlineMs: number;
}

/**
 * Lets the pipeline answer the calls of its own methods, and calls of unknown methods, as soon as grpc-js has read
 * them. The handlers of grpc-js are for the other methods.
 */
export function answerCalls(answered: AnsweredCalls): ServerInterceptor {
  return ({ path }, innermost) => {
    if (path !== UNKNOWN_METHOD && !answered.paths.has(path)) {
      return new ServerInterceptingCall(innermost);
    }
    const call = new ServerCall(path, innermost, answered);
    const start = innermost.start.bind(innermost);
    // V8 allocates a function literal that is assigned to a property in the old generation, where these would keep the
    // whole call alive until a full collection. So they are assigned by name.
    const startCall = (): void => {
      start(call);
    };
    const endCall = ({ code }: SentStatus): void => {
      call.endBy(code);
    };
    innermost.start = startCall;
    // grpc-js ends the calls that it ends itself here, below every interceptor.
    innermost.sendStatus = endCall;
    // grpc-js needs only the interface, though its type names the class.
    return innermost as unknown as ServerInterceptingCall;
  };
}

type SentStatus = Parameters<ServerInterceptingCallInterface['sendStatus']>[0];

const NO_BYTES = Buffer.alloc(0);

const sending = new EndOfTurn<{ readonly call: ServerCall; readonly reply: Reply }>(({ call, reply }) => {
  call.send(reply);
});
const arming = new EndOfTurn<ServerCall>((call) => {
  call.arm();
});

/** The one place where a call of grpc-js becomes ours and our reply becomes grpc-js's. */
class ServerCall implements Cancellation {
  cancelled = false;
  readonly #path: string;
  readonly #innermost: ServerInterceptingCallInterface;
  readonly #sendStatus: (status: SentStatus) => void;
  readonly #pipeline: Pipeline;
  readonly #limit: number;
  /** Whether the message, or an earlier end of the call, is still to come. */
  #waits = true;
  /** Ends a call whose message never completes, which the pipeline does not see. */
  #timer: NodeJS.Timeout | undefined;
  #metadata = new Metadata();
  #message: Buffer | undefined;
  #failed = false;
  #ended = false;
  #tell: (() => void) | undefined;

  constructor(
    path: string,
    innermost: ServerInterceptingCallInterface,
    { pipeline, deadlineMs }: AnsweredCalls,
  ) {
    this.#path = path;
    this.#innermost = innermost;
    this.#sendStatus = innermost.sendStatus.bind(innermost);
    this.#pipeline = pipeline;
    this.#limit = Date.now() + deadlineMs;
  }

  onCancelled(listener: () => void): void {
    this.#tell = listener;
  }

  onReceiveMetadata(metadata: Metadata): void {
    this.#metadata = metadata;
    if (this.#path === UNKNOWN_METHOD) {
      // Whatever kind of method the client expected, it is told at once that there is none.
      this.#run(String(metadata.get(UNKNOWN_PATH_KEY)[0]), NO_BYTES);
      return;
    }
    // Arming a timer costs more than the rest of most calls. Not earlier than here: grpc-js does not report the end of
    // a call that does not come this far.
    arming.add(this);
    this.#innermost.startRead();
  }

  onReceiveMessage(message: Buffer): void {
    if (this.#message === undefined) {
      this.#message = message;
      this.#innermost.startRead();
    } else {
      this.endBy(status.UNIMPLEMENTED);
    }
  }

  onReceiveHalfClose(): void {
    if (this.#message === undefined) this.endBy(status.UNIMPLEMENTED);
    else if (!this.#failed) this.#run(this.#path, this.#message);
  }

  /** grpc-js calls this at the end of every call whose metadata it has delivered, whoever ended it. */
  onCancel(): void {
    this.#waitNoLonger();
    if (this.#ended) return;
    this.cancelled = true;
    this.#tell?.();
  }

  /** Ends the call as grpc-js would, with the pipeline's reply for the same failure. */
  endBy(code: status): void {
    // grpc-js may also fail a call that has already failed or been answered.
    if (this.#failed || this.#ended) return;
    this.#failed = true;
    this.#waitNoLonger();
    this.#end(completeReply(code, this.#path, this.#metadata, this.#pipeline));
  }

  /** Limits the time of a message that is still to come; nearly all come with the headers. */
  arm(): void {
    if (this.#waits) this.#timer = setTimeout(expire, this.#limit - Date.now(), this);
  }

  #waitNoLonger(): void {
    this.#waits = false;
    clearTimeout(this.#timer);
  }

  #run(path: string, message: Buffer): void {
    this.#waitNoLonger();
    const deadline = Math.min(Number(this.#innermost.getDeadline()), this.#limit);
    this.#end(this.#pipeline({ path, message, metadata: this.#metadata, deadline, cancellation: this }));
  }

  #end(reply: Reply | Promise<Reply>): void {
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
    sending.add({ call: this, reply });
  }

  /** Hands the reply to grpc-js. */
  send({ code, details, message, trailers }: Reply): void {
    // Not waiting for the message to be written lets the trailers leave with it.
    if (message !== undefined) this.#innermost.sendMessage(message, ignore);
    this.#sendStatus({ code, details, metadata: trailers });
  }
}

function expire(call: ServerCall): void {
  call.endBy(status.DEADLINE_EXCEEDED);
}

function ignore(): void {
  return undefined;
}
