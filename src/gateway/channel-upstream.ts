import { Client, Metadata, credentials, status, type StatusObject } from '@grpc/grpc-js';
import type { UnaryCall, UnaryReply, Upstream } from './upstream.js';

/** An upstream that is reached over a channel of its own. */
export interface ChannelUpstream extends Upstream {
  /** Closes the channel: calls that are under way go on to their end, later ones are `UNAVAILABLE`. */
  close(): void;
}

/**
 * Opens a channel without TLS to a gRPC server. It connects with the first call, and again after a
 * connection was lost. Calls are never repeated: only the caller knows whether that is safe.
 *
 * @param address `host:port` or `unix:/path`, as grpc-js takes it.
 */
export function channelUpstream(address: string): ChannelUpstream {
  const client = new Client(address, credentials.createInsecure(), {
    // A proxy in the environment is meant for traffic to elsewhere.
    'grpc.enable_http_proxy': 0,
    'grpc.enable_channelz': 0,
    'grpc.enable_retries': 0,
    'grpc.initial_reconnect_backoff_ms': 100,
    'grpc.max_reconnect_backoff_ms': 1000,
  });
  return {
    unary: (call) => unary(client, call),
    close: () => {
      client.close();
    },
  };
}

function unary(
  client: Client,
  { path, message, metadata, deadline, signal }: UnaryCall,
): Promise<UnaryReply> {
  return new Promise((resolve) => {
    try {
      let response: Buffer | undefined;
      const call = client.makeUnaryRequest(
        path,
        toBuffer,
        asIs,
        message,
        metadata,
        { deadline },
        (_, value) => {
          response = value;
        },
      );
      const cancel = (): void => {
        call.cancel();
      };
      call.once('status', (ended: StatusObject) => {
        signal.removeEventListener('abort', cancel);
        resolve(replyOf(ended, response));
      });
      signal.addEventListener('abort', cancel);
      if (signal.aborted) cancel();
    } catch (error) {
      // grpc-js throws on a channel that is closed.
      resolve({ code: status.UNAVAILABLE, details: String(error), trailers: new Metadata() });
    }
  });
}

function replyOf({ code, details, metadata }: StatusObject, message: Buffer | undefined): UnaryReply {
  if (code !== status.OK) return { code, details, trailers: metadata };
  if (message !== undefined) return { code, details: '', message, trailers: metadata };
  return { code: status.INTERNAL, details: 'The server sent no message.', trailers: metadata };
}

function toBuffer(message: Uint8Array): Buffer {
  return Buffer.from(message.buffer, message.byteOffset, message.byteLength);
}

function asIs(message: Buffer): Buffer {
  return message;
}
