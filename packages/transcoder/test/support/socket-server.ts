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
