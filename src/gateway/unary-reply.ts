import { Metadata, status } from '@grpc/grpc-js';
import type { UnaryReply } from '../../packages/transcoder/src/upstream.js';

/** The reply of a call that failed. A code that gRPC does not have is `UNKNOWN`. */
export function failedReply(code: number, details: string, trailers = new Metadata()): UnaryReply {
  return { code: codes.get(code) ?? status.UNKNOWN, details, trailers };
}

/** The reply of a call that succeeded. */
export function okReply(message: Uint8Array, trailers: Metadata): UnaryReply {
  return { code: status.OK, details: '', message, trailers };
}

const codes: ReadonlyMap<number, status> = new Map(
  Object.values(status)
    .filter((code) => typeof code === 'number')
    .map((code) => [code, code]),
);
