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
  readonly code: number;
  readonly details: string;
  readonly trailers: Metadata;
}

/** A message with gRPC's five-byte prefix. */
export function framed(message: Uint8Array, compressed = false): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt8(compressed ? 1 : 0, 0);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

/** Makes a gRPC call over a new HTTP/2 connection with these headers and this body. */
export async function callRaw(
  address: string,
  path: string,
  headers: Readonly<Record<string, string | string[]>>,
  body: Uint8Array,
): Promise<RawOutcome> {
  const session = connect(`http://${address}`);
  try {
    return await outcomeOf(requestOn(session, path, headers).end(body));
  } finally {
    session.close();
  }
}

/** Starts a gRPC call with these headers. The caller writes the body. */
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

/** Waits for the end of a call. Returns its outcome. */
export async function outcomeOf(stream: ClientHttp2Stream): Promise<RawOutcome> {
  let last: IncomingHttpHeaders = {};
  const remember = (received: IncomingHttpHeaders): void => {
    last = received;
  };
  stream.on('response', remember).on('trailers', remember).resume();
  await once(stream, 'close');
  const trailers = Metadata.fromHttp2Headers(last);
  return {
    code: Number(last['grpc-status']),
    details: decodeURIComponent(String(last['grpc-message'])),
    trailers,
  };
}
