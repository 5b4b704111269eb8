import { createFileRegistry, fromBinary, fromJson, toBinary, type JsonObject } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import {
  credentials,
  type handleUnaryCall,
  type Metadata,
  Server,
  type ServerWritableStream,
} from '@grpc/grpc-js';
import { grpcUpstream } from '../../src/grpc-js.js';
import type { TranscoderOptions } from '../../src/options.js';
import type { RequestOutcome } from '../../src/hooks.js';
import { bind, BYTES } from './grpc-server.js';
import { feedDescriptorSet } from './library-contract.js';
import { openTranscoder, type RunningTranscoder } from './library-transcoder.js';
import { opening } from './opening.js';

/** Implements the feed's unary methods, by name. Returns a message, optionally with trailers. */
export type Unary = (name: string, request: Buffer) => Buffer | { message: Buffer; trailers: Metadata };

export type FeedCall = ServerWritableStream<Buffer, Buffer>;

/** A gateway in front of a grpc-js server that streams. */
interface RunningFeed extends RunningTranscoder {
  /** The outcomes that an observer has received. */
  readonly outcomes: readonly RequestOutcome[];
  /** Stops the gRPC server and closes its connections. */
  kill(): void;
}

const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, feedDescriptorSet));

/** Encodes a message from its JSON form. Its name is full, or relative to the feed's package: `Entry`. */
export function feedMessage(name: string, json: JsonObject): Buffer {
  const schema = registry.getMessage(name.includes('.') ? name : `feed.v1.${name}`);
  if (schema === undefined) throw new Error(`There is no message ${name}.`);
  return Buffer.from(toBinary(schema, fromJson(schema, json)));
}

/** Decodes a message. Returns its fields by their JavaScript names. */
export function readFeedMessage(name: string, bytes: Uint8Array): Record<string, unknown> {
  const schema = registry.getMessage(name.includes('.') ? name : `feed.v1.${name}`);
  if (schema === undefined) throw new Error(`There is no message ${name}.`);
  return fromBinary(schema, bytes);
}

/**
 * Starts a gateway and its gRPC server, which stop when the test ends.
 *
 * @param answer implements the server-streaming methods.
 * @param unary implements the others. Default: they return their requests.
 */
export async function startFeed(
  answer: (call: FeedCall) => void,
  options: Partial<TranscoderOptions> = {},
  before?: Parameters<typeof openTranscoder>[2],
  unary: Unary = (_name, request) => request,
): Promise<RunningFeed> {
  const server = new Server();
  for (const name of ['Follow', 'CreateEntry', 'DownloadAll']) {
    const method = { ...BYTES, path: `/feed.v1.Feed/${name}`, responseStream: true } as const;
    server.addService({ [name]: method }, { [name]: answer });
  }
  for (const name of ['Download', 'Upload', 'Turn']) {
    const method = { ...BYTES, path: `/feed.v1.Feed/${name}`, responseStream: false } as const;
    const handle: handleUnaryCall<Buffer, Buffer> = ({ request }, callback) => {
      const answered = unary(name, request);
      if (Buffer.isBuffer(answered)) callback(null, answered);
      else callback(null, answered.message, answered.trailers);
    };
    server.addService({ [name]: method }, { [name]: handle });
  }
  const address = await bind(server);
  const kill = (): void => {
    server.forceShutdown();
  };
  opening({ close: kill });
  const upstream = opening(grpcUpstream(address, { credentials: credentials.createInsecure() }));
  const outcomes: RequestOutcome[] = [];
  const observers = [{ begin: () => ({ end: (outcome: RequestOutcome) => void outcomes.push(outcome) }) }];
  const gateway = await openTranscoder(
    { descriptorSet: feedDescriptorSet, upstream, guard: undefined, json: {}, observers, ...options },
    {},
    before,
  );
  return { ...gateway, outcomes, kill };
}
