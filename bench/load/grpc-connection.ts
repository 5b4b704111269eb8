import type { Socket } from 'node:net';
import { status } from '@grpc/grpc-js';
import { CreateRouteRequest, GetRouteRequest, Route } from '../../src/gen/routing/v1/route_service.js';
import { FrameConnection } from '../../test/support/frame-connection.js';
import { frameMessage } from '../../test/support/http2-call.js';
import {
  ACK,
  CANCEL,
  DATA,
  DEFAULT_WINDOW,
  END_STREAM,
  type Frame,
  GOAWAY,
  grpcHead,
  HEADER_TABLE_SIZE,
  HEADERS,
  INITIAL_WINDOW_SIZE,
  MAX_CONCURRENT_STREAMS,
  MAX_WINDOW,
  uint32,
  REFUSED_STREAM,
  RST_STREAM,
  SETTINGS,
  settingsIn,
  socketTo,
  WINDOW_UPDATE,
} from '../../test/support/http2-frames.js';
import { draftOf, idOf, routeOf } from '../stored-routes.js';
import { type Field, firstBlock, repeatedBlock } from './hpack.js';
import type { Call, Load, Operation } from './load.js';
import { nextCreate } from './request-ids.js';

// The codes of calls that end without a gRPC status; gRPC does not use them.
/** The stream was reset with REFUSED_STREAM: the request was not processed (RFC 9113 section 8.7). */
export const STREAM_REFUSED = 100;
const STREAM_RESET = 101;
const CONNECTION_LOST = 102;

const OK: number = status.OK;
const MAX_MESSAGE_BYTES = 1_024;
/** `grpc-status` in HPACK's Huffman code, as every nghttp2 server sends it. */
const GRPC_STATUS = Buffer.from('9acac8b21234da8f', 'hex');
const CREATE = '/routing.v1.RouteService/CreateRoute';
const METHODS: Readonly<Record<Operation, string>> = {
  get: '/routing.v1.RouteService/GetRoute',
  create: CREATE,
  'create with key': CREATE,
  'create, 1 % repeats': CREATE,
  echo: '/bench.Echo/Echo',
};

/** Opens callers that share connections, like the callers of a gRPC channel. Their calls reject unless they succeed. */
export function grpcCalls({ target, operation, token, callers }: Load, connections: number): Call[] {
  const fields: Field[] = [...grpcHead(METHODS[operation], target), ['authorization', `Bearer ${token}`]];
  const opened = Array.from({ length: connections }, () => new GrpcConnection(target, fields));
  return Array.from({ length: callers }, (_, i) => {
    const connection = opened[i % connections];
    if (connection === undefined) throw new Error('There are no connections.');
    return (n) =>
      new Promise((resolve, reject) => {
        connection.call(grpcMessage(operation, n), (code) => {
          if (code === OK) resolve();
          else reject(new Error(`A call ended with ${code}.`));
        });
      });
  });
}

/** The message of a request for the n-th route, with the length prefix of gRPC. */
export function grpcMessage(operation: Operation, n: number): Buffer {
  return frameMessage(encode(operation, n));
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

/** How a connection behaves; by default as the callers of the benchmark, whose few calls never meet a limit. */
interface ConnectionOptions {
  /** Called when there may be room for calls that had to wait. */
  readonly onRoom?: () => void;
  /** Whether it never acknowledges the server's settings, and ignores the stream limit. */
  readonly heedless?: boolean;
  /** Whether the server may use no dynamic table, so that the status of each failed call can be read. */
  readonly readsFailures?: boolean;
}

/**
 * The part of HTTP/2 that unary calls need: a full client would use more CPU than the server under test. It knows the
 * connection's window and the server's stream limit, even when that changes.
 */
export class GrpcConnection {
  readonly #socket: Socket;
  readonly #connection: FrameConnection;
  readonly #repeated: Buffer;
  readonly #heedless: boolean;
  readonly #open = new Map<number, { answered: boolean; readonly onEnd: (status: number) => void }>();
  #block: Buffer;
  /** 0 before the server's settings arrive; infinite for a heedless connection. */
  #maxStreams: number;
  #window = DEFAULT_WINDOW;

  constructor(
    target: string,
    fields: readonly Field[],
    { onRoom, heedless = false, readsFailures = false }: ConnectionOptions = {},
  ) {
    this.#maxStreams = heedless ? Number.POSITIVE_INFINITY : 0;
    this.#heedless = heedless;
    this.#block = firstBlock(fields);
    this.#repeated = repeatedBlock(fields);
    this.#socket = socketTo(target);
    // Without a dynamic table, header blocks are independent, so a status is found without decoding all of them.
    const table = readsFailures ? { [HEADER_TABLE_SIZE]: 0 } : {};
    const values = { ...table, [INITIAL_WINDOW_SIZE]: MAX_WINDOW };
    const receive = (frame: Frame): void => {
      this.#receive(frame);
    };
    this.#connection = new FrameConnection(this.#socket, values, receive, !heedless);
    this.#connection.send(WINDOW_UPDATE, 0, 0, uint32(MAX_WINDOW - DEFAULT_WINDOW));
    if (onRoom !== undefined) this.#socket.on('data', onRoom);
    this.#socket
      .on('error', () => undefined)
      .on('close', () => {
        this.#lose();
      });
  }

  /** How many calls may be under way, as the server said last. */
  get maxStreams(): number {
    return this.#maxStreams;
  }

  /** Whether another call may be sent now, with a message of at most 1 KiB. */
  get hasRoom(): boolean {
    return this.#open.size < this.#maxStreams && this.#window >= MAX_MESSAGE_BYTES;
  }

  /**
   * @param onEnd gets the gRPC status, or one of the codes of this file for a call without one
   * @returns resets the call if it is still under way
   */
  call(message: Buffer, onEnd: (status: number) => void): () => void {
    const stream = this.#connection.begin(this.#block);
    this.#block = this.#repeated;
    this.#window -= message.length;
    this.#open.set(stream, { answered: false, onEnd });
    this.#connection.send(DATA, END_STREAM, stream, message);
    return () => {
      if (!this.#open.has(stream)) return;
      this.#connection.send(RST_STREAM, 0, stream, uint32(CANCEL));
      this.#end(stream, STREAM_RESET);
    };
  }

  #receive({ type, flags, stream, payload }: Frame): void {
    if (type === SETTINGS && (flags & ACK) === 0) {
      if (this.#heedless) return;
      const limit = settingsIn(payload).get(MAX_CONCURRENT_STREAMS);
      if (limit !== undefined) this.#maxStreams = limit;
      // A server that announces no limit has none.
      else if (this.#maxStreams === 0) this.#maxStreams = Number.POSITIVE_INFINITY;
    } else if (type === WINDOW_UPDATE && stream === 0) this.#window += payload.readUInt32BE(0);
    else if (type === GOAWAY) this.#maxStreams = 0;
    else if (type === RST_STREAM) {
      this.#end(stream, payload.readUInt32BE(0) === REFUSED_STREAM ? STREAM_REFUSED : STREAM_RESET);
    } else if (type === DATA) {
      const call = this.#open.get(stream);
      if (call !== undefined) call.answered = true;
    } else if (type === HEADERS && (flags & END_STREAM) !== 0) {
      // A failed call has no message.
      const unread = this.#open.get(stream)?.answered === true ? OK : STREAM_RESET;
      this.#end(stream, statusIn(payload) ?? unread);
    }
  }

  #end(stream: number, status: number): void {
    const call = this.#open.get(stream);
    this.#open.delete(stream);
    call?.onEnd(status);
  }

  #lose(): void {
    this.#maxStreams = 0;
    for (const stream of [...this.#open.keys()]) this.#end(stream, CONNECTION_LOST);
  }
}

/**
 * The value of `grpc-status`: its length and plain digits, which a Huffman code would not shorten. Undefined if an index
 * stands for them.
 */
function statusIn(block: Buffer): number | undefined {
  const at = block.indexOf(GRPC_STATUS);
  if (at === -1) return undefined;
  const lengthAt = at + GRPC_STATUS.length;
  return Number(block.toString('latin1', lengthAt + 1, lengthAt + 1 + (block[lengthAt] ?? 0)));
}
