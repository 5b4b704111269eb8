import type { Client } from '@grpc/grpc-js';
import { failedReply, okReply } from './unary-reply.js';
import type { UnaryCall, UnaryReply } from '../../packages/transcoder/src/upstream.js';

/** Makes a call by itself, as every gRPC server takes it. */
export function unaryRequest(client: Client, call: UnaryCall): Promise<UnaryReply> {
  const { path, metadata, deadline, cancellation } = call;
  const message = Buffer.from(call.message);
  return new Promise((resolve) => {
    let received: Buffer | undefined;
    const request = client.makeUnaryRequest(
      path,
      same,
      same,
      message,
      metadata,
      { deadline },
      (error, value) => {
        if (error === null) received = value;
        else resolve(failedReply(error.code, error.details, error.metadata));
      },
    );
    // It comes after the message or the error, and has the trailers.
    request.on('status', ({ metadata: trailers }) => {
      if (received !== undefined) resolve(okReply(received, trailers));
    });
    cancellation.onCancelled(() => {
      request.cancel();
    });
  });
}

function same(bytes: Buffer): Buffer {
  return bytes;
}
