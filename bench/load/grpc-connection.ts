import type { Socket } from 'node:net';
import { CreateRouteRequest, GetRouteRequest, Route } from '../../src/gen/routing/v1/route_service.js';
import { draftOf, idOf, routeOf } from '../stored-routes.js';
import { FrameConnection } from '../../test/support/frame-connection.js';
import {
  DATA,
  DEFAULT_WINDOW,
  END_STREAM,
  type Frame,
  GOAWAY,
  grpcHead,
  HEADERS,
  INITIAL_WINDOW_SIZE,
  MAX_WINDOW,
  number,
  RST_STREAM,
  socketTo,
  WINDOW_UPDATE,
} from '../../test/support/http2-frames.js';
import { type Field, firstBlock, repeatedBlock } from './hpack.js';
import type { Call, Load, Operation } from './load.js';
import { nextCreate } from './request-ids.js';

const CREATE = '/routing.v1.RouteService/CreateRoute';
const METHODS: Readonly<Record<Operation, string>> = {
  get: '/routing.v1.RouteService/GetRoute',
  create: CREATE,
  'create with key': CREATE,
  'create, 1 % repeats': CREATE,
  echo: '/bench.Echo/Echo',
};

/** Opens callers that share connections, like the callers of a gRPC channel. */
export function grpcCalls(load: Load, connections: number): Call[] {
  const opened = Array.from({ length: connections }, () => new GrpcConnection(load));
  return Array.from({ length: load.callers }, (_, i) => {
    const connection = opened[i % connections];
    if (connection === undefined) throw new Error('There are no connections.');
    return (n) => connection.call(grpcMessage(load.operation, n));
  });
}

/** The message of a request for the n-th route, with the length prefix of gRPC. */
export function grpcMessage(operation: Operation, n: number): Buffer {
  const message = encode(operation, n);
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

/** The path of the method that the operation calls. */
export function grpcPath(operation: Operation): string {
  return METHODS[operation];
}

function encode(operation: Operation, n: number): Uint8Array {
  switch (operation) {
    case 'get':
      return GetRouteRequest.encode({ routeId: idOf(n) }).finish();
    case 'create':
    case 'create with key':
    case 'create, 1 % repeats': {
      const next = nextCreate(operation, n);
      return CreateRouteRequest.encode({
        route: { id: '', ...draftOf(next.n), createdAt: undefined },
        requestId: next.requestId,
        validateOnly: false,
      }).finish();
    }
    case 'echo':
      return Route.encode(routeOf(n)).finish();
  }
}

interface Pending {
  answered: boolean;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/**
 * The minimum of HTTP/2 that unary calls need: a full client would cost more than the server under test.
 * It ignores the server's flow control, since 32 small requests in flight never fill the default window.
 */
class GrpcConnection {
  readonly #socket: Socket;
  readonly #connection: FrameConnection;
  readonly #repeated: Buffer;
  readonly #pending = new Map<number, Pending>();
  #block: Buffer;

  constructor({ target, operation, token }: Load) {
    const fields: Field[] = [...grpcHead(METHODS[operation], target), ['authorization', `Bearer ${token}`]];
    this.#block = firstBlock(fields);
    this.#repeated = repeatedBlock(fields);
    this.#socket = socketTo(target).unref();
    this.#socket.on('error', (error) => {
      this.#fail(error);
    });
    this.#socket.on('close', () => {
      this.#fail(new Error('The server closed the connection.'));
    });
    this.#connection = new FrameConnection(this.#socket, { [INITIAL_WINDOW_SIZE]: MAX_WINDOW }, (each) => {
      this.#receive(each);
    });
    this.#connection.send(WINDOW_UPDATE, 0, 0, number(MAX_WINDOW - DEFAULT_WINDOW));
  }

  /** Makes a unary call. Rejects when the response has no message, as in every gRPC failure. */
  call(framed: Buffer): Promise<void> {
    this.#socket.ref();
    const stream = this.#connection.begin(this.#block);
    this.#block = this.#repeated;
    this.#connection.send(DATA, END_STREAM, stream, framed);
    return new Promise((resolve, reject) => {
      this.#pending.set(stream, { answered: false, resolve, reject });
    });
  }

  #receive({ type, flags, stream }: Frame): void {
    if (type === GOAWAY) this.#fail(new Error('The server sent GOAWAY.'));
    else if (type === RST_STREAM) this.#end(stream, new Error('The server reset the stream.'));
    else if (type === DATA || type === HEADERS) {
      const pending = this.#pending.get(stream);
      if (type === DATA && pending !== undefined) pending.answered = true;
      if ((flags & END_STREAM) !== 0) {
        this.#end(stream, pending?.answered === true ? undefined : new Error('A call failed.'));
      }
    }
  }

  #end(stream: number, error?: Error): void {
    const pending = this.#pending.get(stream);
    this.#pending.delete(stream);
    if (this.#pending.size === 0) this.#socket.unref();
    if (error === undefined) pending?.resolve();
    else pending?.reject(error);
  }

  #fail(error: Error): void {
    for (const stream of this.#pending.keys()) this.#end(stream, error);
  }
}
