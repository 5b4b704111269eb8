import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A network between a client and a server that can lose connections silently. */
export interface TcpProxy {
  readonly port: number;
  /** Blocks all traffic on existing connections; neither side is told. Later ones work. */
  loseConnections(): void;
  /** Loses the connections, and blocks all traffic on later ones, too. */
  stall(): void;
  /** Closes every connection and refuses later ones. */
  close(): Promise<void>;
}

/** Starts a proxy on loopback, on a free port if none is given, to a port on loopback. */
export async function startTcpProxy(targetPort: number, port = 0): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  let stalled = false;
  const server = createServer((client) => {
    const target = connect(targetPort, '127.0.0.1');
    for (const [one, other] of [
      [client, target],
      [target, client],
    ] as const) {
      sockets.add(one);
      if (!stalled) one.pipe(other);
      one.on('error', () => other.destroy()).on('close', () => other.destroy());
    }
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const loseConnections = (): void => {
    for (const socket of sockets) socket.unpipe().pause();
  };
  return {
    port: (server.address() as AddressInfo).port,
    loseConnections,
    stall() {
      stalled = true;
      loseConnections();
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      if (!server.listening) return;
      server.close();
      await once(server, 'close');
    },
  };
}
