import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import {
  Metadata,
  type sendUnaryData,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  status,
} from '@grpc/grpc-js';
import { onTestFinished } from 'vitest';
import {
  type CreateRouteRequest,
  CreateRouteRequestSchema,
  GetRouteRequestSchema,
  RouteSchema,
} from '../../src/gen/routing/v1/route_service_pb.js';

/** A call that the server received. */
export interface Received {
  readonly method: 'CreateRoute' | 'GetRoute';
  readonly message: Buffer;
  readonly metadata: Metadata;
  /** The time left until the deadline on arrival, in milliseconds. */
  readonly timeoutMs: number;
  readonly cancelled: () => boolean;
}

/** The reply to a call: a serialized route, also with trailers, a failure, or none at all. */
export type Answer =
  | Buffer
  | { readonly message: Buffer; readonly trailers: Readonly<Record<string, string>> }
  | {
      readonly code: status;
      readonly details: string;
      readonly trailers?: Readonly<Record<string, string | Buffer>>;
    }
  | 'never';

export const CREATED_AT = new Date('2026-11-20T13:59:38.075Z');

/** A serialized route. */
export const STORED = Buffer.from(
  toBinary(
    RouteSchema,
    create(RouteSchema, {
      id: '01a1f941-715b-7593-b057-19259d7b5bfc',
      method: 'GET',
      path: '/users/:id',
      middleware: ['authenticate'],
      handler: 'getUser',
      createdAt: timestampFromDate(CREATED_AT),
    }),
  ),
);

/** The reply of a service that may be called again. */
export const AWAY: Answer = { code: status.UNAVAILABLE, details: 'The database is away.' };

/** A gRPC server whose replies the test chooses. */
class FaultServer {
  readonly received: Received[] = [];
  readonly #server = new Server();
  #address = '';

  /** `127.0.0.1:port`. */
  get address(): string {
    return this.#address;
  }

  /** The create requests so far. */
  get creates(): CreateRouteRequest[] {
    return this.received
      .filter(({ method }) => method === 'CreateRoute')
      .map(({ message }) => fromBinary(CreateRouteRequestSchema, message));
  }

  /** The ids of the get requests so far. */
  get ids(): string[] {
    return this.received
      .filter(({ method }) => method === 'GetRoute')
      .map(({ message }) => fromBinary(GetRouteRequestSchema, message).routeId);
  }

  /** The bearer tokens so far. */
  get tokens(): unknown[] {
    return this.received.map(({ metadata }) => metadata.get('authorization')[0]);
  }

  /** Each call's `x-request-id` so far. */
  get requestIds(): unknown[] {
    return this.received.map(({ metadata }) => metadata.get('x-request-id')[0]);
  }

  /** @param answer chooses the reply, given the call and the number of earlier calls. */
  async listen(
    answer: (received: Received, earlier: number) => Answer,
    { credentials = ServerCredentials.createInsecure(), host = '127.0.0.1:0' } = {},
  ): Promise<void> {
    for (const method of ['CreateRoute', 'GetRoute'] as const) {
      const path = `/routing.v1.RouteService/${method}`;
      const handle = (call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>): void => {
        const { request: message, metadata } = call;
        const earlier = this.received.length;
        const received = {
          method,
          message,
          metadata,
          timeoutMs: Number(call.getDeadline()) - Date.now(),
          cancelled: () => call.cancelled,
        };
        this.received.push(received);
        reply(answer(received, earlier), done);
      };
      this.#server.register(path, handle, same, same, 'unary');
    }
    const port = await new Promise<number>((resolve, reject) => {
      this.#server.bindAsync(host, credentials, (error, bound) => {
        if (error === null) resolve(bound);
        else reject(error);
      });
    });
    this.#address = `127.0.0.1:${port}`;
  }

  close(): void {
    this.#server.forceShutdown();
  }
}

function same(bytes: Buffer): Buffer {
  return bytes;
}

function reply(answer: Answer, done: sendUnaryData<Buffer>): void {
  if (answer === 'never') return;
  if (Buffer.isBuffer(answer)) {
    done(null, answer);
    return;
  }
  const metadata = new Metadata();
  for (const [key, value] of Object.entries(answer.trailers ?? {})) metadata.set(key, value);
  if ('message' in answer) done(null, answer.message, metadata);
  else done({ code: answer.code, details: answer.details, metadata });
}

/** Starts a server that stops when the test ends. */
export async function startFaultServer(
  answer: (received: Received, earlier: number) => Answer,
  options: { credentials?: ServerCredentials; host?: string } = {},
): Promise<FaultServer> {
  const server = new FaultServer();
  await server.listen(answer, options);
  onTestFinished(() => {
    server.close();
  });
  return server;
}
