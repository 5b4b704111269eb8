import { once } from 'node:events';
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  type IncomingHttpHeaders,
} from 'node:http2';
import { Metadata } from '@grpc/grpc-js';

/** The outcome of a call that was made with plain HTTP/2, without a gRPC library. */
export interface RawOutcome {
  /** The gRPC status; NaN if there is none. */
  readonly code: number;
  /** The message of the status, decoded; empty if there is none. */
  readonly details: string;
  /** The headers that ended the response, the status among them. */
  readonly trailers: Metadata;
}

/**
 * A message with gRPC's five-byte prefix.
 *
 * @param compressed the flag in the prefix: whether the message, which is taken as it is, counts as compressed
 */
export function frameMessage(message: Uint8Array, compressed = false): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt8(compressed ? 1 : 0, 0);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

/**
 * Makes a gRPC call over a new HTTP/2 connection.
 *
 * @param address `host:port`
 * @param headers beside those that every gRPC call has, and in place of them
 * @param body the messages, each with its prefix
 * @throws Error if the stream is reset with an error code, or the connection fails
 */
export async function callRaw(
  address: string,
  path: string,
  headers: Readonly<Record<string, string | string[]>>,
  body: Uint8Array,
): Promise<RawOutcome> {
  const session = connect(`http://${address}`);
  // The stream reports it, too.
  session.on('error', () => undefined);
  try {
    return await outcomeOf(requestOn(session, path, headers).end(body));
  } finally {
    session.close();
  }
}

/** Starts a gRPC call with these headers, as `callRaw` does, on an open connection. The caller writes the body. */
export function requestOn(
  session: ClientHttp2Session,
  path: string,
  headers: Readonly<Record<string, string | string[]>> = {},
): ClientHttp2Stream {
  return session.request({
    ':method': 'POST',
    ':path': path,
    te: 'trailers',
    'content-type': 'application/grpc',
    ...headers,
  });
}

/**
 * Waits for the end of a call. Returns its outcome.
 *
 * @throws Error if the stream is reset with an error code, or the connection fails
 */
export async function outcomeOf(stream: ClientHttp2Stream): Promise<RawOutcome> {
  // The status is in the trailers or, if there is no message, in the headers of the response, after which none come.
  let lastHeaders: IncomingHttpHeaders = {};
  const remember = (headers: IncomingHttpHeaders): void => {
    lastHeaders = headers;
  };
  stream.on('response', remember).on('trailers', remember).resume();
  // Rejects at an 'error' of the stream.
  await once(stream, 'close');
  const { 'grpc-status': code, 'grpc-message': message = '' } = lastHeaders;
  return {
    code: Number(code),
    details: decodeURIComponent(String(message)),
    trailers: Metadata.fromHttp2Headers(lastHeaders),
  };
}
