import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import {
  type ServerReflectionRequest,
  ServerReflectionRequestSchema,
  ServerReflectionResponseSchema,
} from '../../src/gen/grpc/reflection/v1/reflection_pb.js';
import type { ReflectionCall } from './reflecting-server.js';

interface Recorded {
  readonly version: string;
  readonly request: string;
  readonly response: string;
}

const recorded = readFileSync(resolve(import.meta.dirname, '../grpc-go/reflection.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Recorded);

/** Sends the responses of a grpc-go 1.81.1 server, which `grpc-go/recorder` recorded. */
export function asRecorded(version: 'v1' | 'v1alpha'): (stream: ReflectionCall) => void {
  const answers = new Map(
    recorded.filter((each) => each.version === version).map(({ request, response }) => [request, response]),
  );
  return (stream) => {
    stream.on('data', (asked: ServerReflectionRequest) => {
      const request = Buffer.from(toBinary(ServerReflectionRequestSchema, asked)).toString('base64');
      const response = Buffer.from(String(answers.get(request)), 'base64');
      stream.write(fromBinary(ServerReflectionResponseSchema, response));
    });
    stream.on('end', () => {
      stream.end();
    });
  };
}
