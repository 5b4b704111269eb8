import { type Client, type ClientReadableStream, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import type { ReplyStream, UnaryCall, UnaryReply } from '../upstream.js';
import { failed } from './call-failure.js';

/** Makes a unary call. */
export function request(
  client: Client,
  { path, message, metadata, deadline, cancellation }: UnaryCall,
): Promise<UnaryReply> {
  return new Promise((resolve) => {
    let received: Buffer | undefined;
    let initialMetadata: Metadata | undefined;
    const call = client.makeUnaryRequest(
      path,
      same,
      same,
      Buffer.from(message),
      toMetadata(metadata),
      { deadline },
      (error, value) => {
        if (error === null) received = value;
        else resolve(failed(error, initialMetadata, { deadline, cancellation }));
      },
    );
    call.on('metadata', (headers) => {
      initialMetadata = headers;
    });
    // The status comes after the message or the error, and carries the trailers.
    call.on('status', ({ metadata: trailers }) => {
      if (received !== undefined)
        resolve({
          code: status.OK,
          details: '',
          answered: true,
          message: received,
          initialMetadata,
          trailers,
        });
    });
    cancellation.onCancelled(() => {
      call.cancel();
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

  /** @param ended called when the call ends, even if messages are still unread. */
  constructor(client: Client, call: UnaryCall, ended: () => void) {
    const { path, message, metadata, deadline, cancellation } = call;
    let initialMetadata: Metadata | undefined;
    this.#call = client.makeServerStreamRequest(
      path,
      same,
      same,
      Buffer.from(message),
      toMetadata(metadata),
      { deadline },
    );
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
      this.#end = failed(error, initialMetadata, call);
    });
    // The status comes after the last message or the error.
    this.#call.on('status', ({ metadata: trailers }) => {
      this.#end ??= { code: status.OK, details: '', answered: true, initialMetadata, trailers };
      this.#wake();
      ended();
    });
    cancellation.onCancelled(() => {
      this.#call.cancel();
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

function toMetadata(entries: UnaryCall['metadata']): Metadata {
  const metadata = new Metadata();
  for (const [key, value] of entries) metadata.set(key, value);
  return metadata;
}

function same(bytes: Buffer): Buffer {
  return bytes;
}
