import { connect, type Socket } from 'node:net';
import { CreateRouteRequest, GetRouteRequest, Route } from '../../src/gen/routing/v1/route_service.js';
import { draftOf, idOf, routeOf } from '../stored-routes.js';
import { type Field, firstBlock, repeatedBlock } from './hpack.js';
import type { Call, Load, Operation } from './load.js';

/** Frame types and flags of RFC 9113, section 6. */
const DATA = 0x0;
const HEADERS = 0x1;
const RST_STREAM = 0x3;
const SETTINGS = 0x4;
const PING = 0x6;
const GOAWAY = 0x7;
const WINDOW_UPDATE = 0x8;
const END_STREAM = 0x1;
const ACK = 0x1;
const END_HEADERS = 0x4;
const FRAME_HEAD = 9;
const INITIAL_WINDOW_SIZE = 0x4;
const MAX_WINDOW = 2 ** 31 - 1;
const DEFAULT_WINDOW = 65_535;

const METHODS: Readonly<Record<Operation, string>> = {
  get: '/routing.v1.RouteService/GetRoute',
  create: '/routing.v1.RouteService/CreateRoute',
  echo: '/bench.Echo/Echo',
};

/** Callers that share connections, as the callers of a gRPC channel do. */
export function grpcCalls(load: Load, connections: number): Call[] {
  const opened = Array.from({ length: connections }, () => new GrpcConnection(load));
  return Array.from({ length: load.callers }, (_, i) => {
    const connection = opened[i % connections];
    if (connection === undefined) throw new Error('There are no connections.');
    return (n) => connection.call(grpcMessage(load.operation, n));
  });
}

/** The message of a request for the n-th route, behind its length as gRPC wants it. */
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
      return CreateRouteRequest.encode({
        route: { id: '', ...draftOf(n), createdAt: undefined },
        requestId: '',
        validateOnly: false,
      }).finish();
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
 * As little of HTTP/2 as unary calls take, since a full client costs more than the server it measures.
 * The server's flow control is not looked at: 32 small requests under way never fill its default window.
 */
class GrpcConnection {
  readonly #socket: Socket;
  readonly #first: Buffer;
  readonly #repeated: Buffer;
  readonly #pending = new Map<number, Pending>();
  #received: Buffer = Buffer.alloc(0);
  #nextStream = 1;
  #outgoing: Buffer[] = [];

  constructor({ target, operation, token }: Load) {
    const fields: Field[] = [
      [':method', 'POST'],
      [':scheme', 'http'],
      [':path', METHODS[operation]],
      [':authority', target],
      ['te', 'trailers'],
      ['content-type', 'application/grpc'],
      ['authorization', `Bearer ${token}`],
    ];
    this.#first = firstBlock(fields);
    this.#repeated = repeatedBlock(fields);
    const { hostname, port } = new URL(`http://${target}`);
    this.#socket = connect(Number(port), hostname).setNoDelay().unref();
    this.#socket.on('data', (chunk: Buffer) => {
      this.#receive(chunk);
    });
    this.#socket.on('error', (error) => {
      this.#fail(error);
    });
    this.#socket.on('close', () => {
      this.#fail(new Error('The server closed the connection.'));
    });
    this.#socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
    const windowSetting = Buffer.alloc(6);
    windowSetting.writeUInt16BE(INITIAL_WINDOW_SIZE, 0);
    windowSetting.writeUInt32BE(MAX_WINDOW, 2);
    this.#send(SETTINGS, 0, 0, windowSetting);
    const increment = Buffer.alloc(4);
    increment.writeUInt32BE(MAX_WINDOW - DEFAULT_WINDOW);
    this.#send(WINDOW_UPDATE, 0, 0, increment);
  }

  /** Makes a unary call. A reply without a message, which every gRPC failure is, rejects. */
  call(framed: Buffer): Promise<void> {
    const stream = this.#nextStream;
    this.#nextStream += 2;
    this.#socket.ref();
    this.#send(HEADERS, END_HEADERS, stream, stream === 1 ? this.#first : this.#repeated);
    this.#send(DATA, END_STREAM, stream, framed);
    return new Promise((resolve, reject) => {
      this.#pending.set(stream, { answered: false, resolve, reject });
    });
  }

  #send(type: number, flags: number, stream: number, payload: Buffer): void {
    const head = Buffer.allocUnsafe(FRAME_HEAD);
    head.writeUIntBE(payload.length, 0, 3);
    head.writeUInt8(type, 3);
    head.writeUInt8(flags, 4);
    head.writeUInt32BE(stream, 5);
    // Writes of one turn of the event loop leave in one system call.
    if (this.#outgoing.length === 0) {
      process.nextTick(() => {
        this.#socket.write(Buffer.concat(this.#outgoing));
        this.#outgoing = [];
      });
    }
    this.#outgoing.push(head, payload);
  }

  #receive(chunk: Buffer): void {
    const bytes = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    let at = 0;
    while (bytes.length - at >= FRAME_HEAD) {
      const end = at + FRAME_HEAD + bytes.readUIntBE(at, 3);
      if (bytes.length < end) break;
      const stream = bytes.readUInt32BE(at + 5);
      this.#frame(
        bytes.readUInt8(at + 3),
        bytes.readUInt8(at + 4),
        stream,
        bytes.subarray(at + FRAME_HEAD, end),
      );
      at = end;
    }
    this.#received = bytes.subarray(at);
  }

  #frame(type: number, flags: number, stream: number, payload: Buffer): void {
    if (type === SETTINGS && (flags & ACK) === 0) this.#send(SETTINGS, ACK, 0, Buffer.alloc(0));
    else if (type === PING && (flags & ACK) === 0) this.#send(PING, ACK, 0, payload);
    else if (type === GOAWAY) this.#fail(new Error('The server sent GOAWAY.'));
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
