import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';

/** A server on a loopback port that responds as no gRPC library would. */
interface BareServer {
  readonly address: string;
  /** The number of connections so far. */
  readonly connections: () => number;
  /** Closes all connections at once. */
  close(): void;
}

/** Serves bare sockets. */
export async function serveSockets(answer: (socket: Socket) => void): Promise<BareServer> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    sockets.push(socket);
    answer(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections: () => sockets.length,
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

const PREFACE_LENGTH = 24;
const HEADERS = 1;
const RST_STREAM = 3;
const SETTINGS = 4;
const END_HEADERS = 4;

/** An HTTP/2 frame (RFC 9113, section 4.1). */
function frame(type: number, flags: number, stream: number, payload = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** `:status: 200` and a content type, in HPACK. */
const GRPC_HEADERS = Buffer.concat([Buffer.from([0x88, 0x0f, 0x10, 16]), Buffer.from('application/grpc')]);

/** Responds to requests with headers and a reset, which Node's own server sends only in some cases. */
export function resetAfterHeaders(socket: Socket, code: number): void {
  socket.write(frame(SETTINGS, 0, 0));
  let bytes = Buffer.alloc(0);
  let at = PREFACE_LENGTH;
  socket.on('data', (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk]);
    while (bytes.length >= at + 9) {
      if (bytes[at + 3] === HEADERS) {
        const payload = Buffer.alloc(4);
        payload.writeUInt32BE(code);
        socket.write(frame(HEADERS, END_HEADERS, bytes.readUInt32BE(at + 5), GRPC_HEADERS));
        socket.write(frame(RST_STREAM, 0, bytes.readUInt32BE(at + 5), payload));
      }
      at += 9 + bytes.readUIntBE(at, 3);
    }
  });
}
