import { promisify } from 'node:util';
import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { Metadata, type sendUnaryData, Server, ServerCredentials } from '@grpc/grpc-js';
import { type ServerUnaryCall, status } from '@grpc/grpc-js';
import { onTestFinished } from 'vitest';
import * as gen from '../../src/gen/routing/v1/route_service_pb.js';
import { DEFINITION } from './test-client.js';

/** A call that the server received. */
export interface Received {
  readonly method: 'CreateRoute' | 'GetRoute';
  readonly metadata: Metadata;
  /** The time left until the deadline on arrival, in milliseconds. */
  readonly timeoutMs: number;
  readonly cancelled: () => boolean;
}

/** The reply to a call: a serialized route or a failure, also with trailers, or none at all. */
export type Answer = Buffer | Partial<Reply> | 'never';

interface Reply {
  readonly message: Buffer;
  readonly code: status;
  readonly details: string;
  readonly trailers: Readonly<Record<string, string | Buffer>>;
}

export const CREATED_AT = new Date('2026-11-20T13:59:38.075Z');

/** A serialized route. */
const [id, createdAt] = ['01a1f941-715b-7593-b057-19259d7b5bfc', timestampFromDate(CREATED_AT)];
export const STORED = encodeRoute({ id, ...DEFINITION, createdAt });

export function encodeRoute(route: MessageInitShape<typeof gen.RouteSchema>): Buffer {
  return Buffer.from(toBinary(gen.RouteSchema, create(gen.RouteSchema, route)));
}

/** The reply of a service that may be called again. */
export const AWAY: Answer = { code: status.UNAVAILABLE, details: 'The database is away.' };

/** What a server has received so far. */
class FaultServer {
  /** `127.0.0.1:port`. */
  address = '';
  readonly received: Received[] = [];
  readonly creates: gen.CreateRouteRequest[] = [];
  /** The ids of the get requests. */
  readonly ids: string[] = [];
  /** What each call had as `authorization` and as `x-request-id`. */
  readonly tokens: unknown[] = [];
  readonly requestIds: unknown[] = [];
}

/**
 * Starts a gRPC server whose replies the test chooses. It stops when the test ends.
 *
 * @param answer chooses the reply, given the call and the number of earlier calls
 */
export async function startFaultServer(
  answer: (received: Received, earlier: number) => Answer,
  { credentials = ServerCredentials.createInsecure(), host = '127.0.0.1:0' } = {},
): Promise<FaultServer> {
  const fault = new FaultServer();
  const keep = {
    CreateRoute: (bytes: Buffer) => fault.creates.push(fromBinary(gen.CreateRouteRequestSchema, bytes)),
    GetRoute: (bytes: Buffer) => fault.ids.push(fromBinary(gen.GetRouteRequestSchema, bytes).routeId),
  };
  const server = new Server();
  for (const method of ['CreateRoute', 'GetRoute'] as const) {
    const handle = (call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>): void => {
      const timeoutMs = Number(call.getDeadline()) - Date.now();
      const received = { method, metadata: call.metadata, timeoutMs, cancelled: () => call.cancelled };
      keep[method](call.request);
      fault.tokens.push(call.metadata.get('authorization')[0]);
      fault.requestIds.push(call.metadata.get('x-request-id')[0]);
      reply(answer(received, fault.received.push(received) - 1), done);
    };
    server.register(`/routing.v1.RouteService/${method}`, handle, same, same, 'unary');
  }
  const port = await promisify(server.bindAsync.bind(server))(host, credentials);
  onTestFinished(() => {
    server.forceShutdown();
  });
  fault.address = `127.0.0.1:${port}`;
  return fault;
}

function same(bytes: Buffer): Buffer {
  return bytes;
}

function reply(answer: Answer, done: sendUnaryData<Buffer>): void {
  if (answer === 'never') return;
  const {
    message,
    trailers = {},
    ...failure
  }: Partial<Reply> = Buffer.isBuffer(answer) ? { message: answer } : answer;
  const metadata = new Metadata();
  for (const [key, value] of Object.entries(trailers)) metadata.set(key, value);
  if (message === undefined) done({ ...failure, metadata });
  else done(null, message, metadata);
}
