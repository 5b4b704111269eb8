import { type Client, type ClientReadableStream, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import type { ReplyStream, UnaryCall, UnaryReply } from '../upstream.js';
import { LONGEST_TIMER_MS, writeGrpcTimeout } from '../timeouts.js';
import { clientGoneReply, deadlineReply, failedReply } from './call-failure.js';
import type { Cancellable } from './resets.js';
import { withoutStack } from './without-stack.js';

/** How long after its deadline a call may go on before it is cancelled, in milliseconds: servers end it themselves. */
const GRACE_MS = 1_000;

/** What a call needs of its connection. */
export interface CallHost {
  readonly client: Client;
  /** Whether there is a connection, so that calls are sent at once. */
  readonly connected: boolean;
  /** Cancels a call in which nobody is interested, as soon as that does no harm to others. */
  drop(made: Cancellable): void;
  /** To be called when a call has ended. */
  onEnd(made: Cancellable, call: UnaryCall, clientHasLeft: boolean): void;
}

/** Makes a unary call. */
export function request(host: CallHost, call: UnaryCall): Promise<UnaryReply> {
  return new Promise((resolve) => {
    let received: Buffer | undefined;
    let initialMetadata: Metadata | undefined;
    const onReply = (error: ServiceError | null, message?: Buffer): void => {
      if (error === null) received = message;
      else resolve(failedReply(error, initialMetadata, call));
    };
    const sent = Buffer.from(call.message);
    const metadata = toMetadata(call);
    const made = withoutStack(() =>
      host.client.makeUnaryRequest(call.path, same, same, sent, metadata, onReply),
    );
    const onEnd = endWhenUnwanted(host, made, call, resolve);
    made.on('metadata', (headers) => {
      initialMetadata = headers;
    });
    // The status comes after the message or the error, and carries the trailers.
    made.on('status', ({ metadata: trailers }) => {
      if (received !== undefined)
        resolve({
          code: status.OK,
          details: '',
          answered: true,
          message: received,
          initialMetadata,
          trailers,
        });
      onEnd();
    });
  });
}

/** The messages of a server-streaming call, read on demand. */
export class MessageStream implements ReplyStream {
  readonly headers: Promise<Metadata>;
  readonly #call: ClientReadableStream<Buffer>;
  #end: UnaryReply | undefined;
  /** Wakes a waiting `next`. */
  #wake = (): void => undefined;

  constructor(host: CallHost, call: UnaryCall) {
    let initialMetadata: Metadata | undefined;
    const sent = Buffer.from(call.message);
    const metadata = toMetadata(call);
    this.#call = withoutStack(() =>
      host.client.makeServerStreamRequest(call.path, same, same, sent, metadata),
    );
    const onEnd = endWhenUnwanted(host, this.#call, call, (reply) => {
      this.#end ??= reply;
      this.#wake();
    });
    this.headers = new Promise((resolve) => {
      this.#call.on('metadata', (headers) => {
        initialMetadata = headers;
        resolve(headers);
      });
    });
    this.#call.on('readable', () => {
      this.#wake();
    });
    this.#call.on('error', (error: ServiceError) => {
      this.#end ??= failedReply(error, initialMetadata, call);
    });
    // The status comes after the last message or the error.
    this.#call.on('status', ({ metadata: trailers }) => {
      this.#end ??= { code: status.OK, details: '', answered: true, initialMetadata, trailers };
      this.#wake();
      onEnd();
    });
  }

  async next(): Promise<Uint8Array | UnaryReply> {
    for (;;) {
      const message = this.#call.read() as Buffer | null;
      if (message !== null) return message;
      if (this.#end !== undefined) return this.#end;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

/**
 * Ends a call for its client at its deadline, or when the client leaves. A deadline of grpc-js would reset the stream at
 * once, at a rate that servers may not allow (`resets.ts`). The server knows the deadline, too: a call that it has not ended
 * after `GRACE_MS` is dropped.
 *
 * @param respond takes the reply
 * @returns to be called when grpc-js has ended the call
 */
function endWhenUnwanted(
  host: CallHost,
  made: Cancellable,
  call: UnaryCall,
  respond: (reply: UnaryReply) => void,
): () => void {
  const { deadline, cancellation } = call;
  let hasEnded = false;
  let hasLeft = false;
  let timer: NodeJS.Timeout | undefined;
  const drop = (): void => {
    host.drop(made);
  };
  const remaining = Math.max(0, deadline - Date.now());
  // The server alone ends a call with a later deadline, or without one.
  if (remaining <= LONGEST_TIMER_MS) {
    timer = setTimeout(() => {
      respond(deadlineReply());
      // A call that still waits for a connection must not be sent any more.
      if (host.connected) timer = setTimeout(drop, GRACE_MS).unref();
      else drop();
    }, remaining).unref();
  }
  cancellation.onCancelled(() => {
    if (hasEnded) return;
    hasLeft = true;
    respond(clientGoneReply());
    drop();
  });
  return () => {
    hasEnded = true;
    clearTimeout(timer);
    host.onEnd(made, call, hasLeft);
  };
}

function toMetadata({ metadata: entries, deadline }: UnaryCall): Metadata {
  const metadata = new Metadata();
  for (const [key, value] of entries) metadata.set(key, value);
  if (deadline !== Infinity) metadata.set('grpc-timeout', writeGrpcTimeout(deadline - Date.now()));
  return metadata;
}

function same(bytes: Buffer): Buffer {
  return bytes;
}
