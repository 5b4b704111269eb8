import type { MethodDefinition } from '@grpc/grpc-js';

/** A unary method whose messages are raw bytes on both sides. */
export const ECHO_METHOD: MethodDefinition<Buffer, Buffer> = {
  path: '/bench.Echo/Echo',
  requestStream: false,
  responseStream: false,
  requestSerialize: same,
  requestDeserialize: same,
  responseSerialize: same,
  responseDeserialize: same,
};

function same(bytes: Buffer): Buffer {
  return bytes;
}
