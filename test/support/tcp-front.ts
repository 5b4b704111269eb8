import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A listener on loopback in front of a server. */
interface TcpFront {
  readonly port: number;
  /** All sockets that were ever opened, of both sides. */
  readonly sockets: ReadonlySet<Socket>;
  /** Refuses further connections. */
  refuse(): void;
  /** Closes all connections and refuses new ones. */
  close(): Promise<void>;
  /** Accepts connections on the same port again, after `close`. */
  reopen(): Promise<void>;
}

/** Where a front listens, and how it ends connections. */
interface TcpFrontOptions {
  /** Default: a free port. */
  readonly port?: number | undefined;
  /** The path of a unix socket, in place of the port. */
  readonly path?: string | undefined;
  /** The delay until the second side of a connection closes after the first, in milliseconds; default: none. */
  readonly endDelayMs?: number;
}

/**
 * Starts a front on loopback. When one side of a connection closes, the other is closed, too.
 *
 * @param join is called with the two sides of each connection, and forwards data between them
 */
export async function startTcpFront(
  targetPort: number,
  join: (client: Socket, server: Socket) => void,
  { port = 0, path, endDelayMs }: TcpFrontOptions = {},
): Promise<TcpFront> {
  const sockets = new Set<Socket>();
  const front = createServer((client) => {
    const server = connect(targetPort, '127.0.0.1');
    for (const [socket, peer] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(socket);
      const end = (): unknown => peer.destroy();
      socket
        .on('error', end)
        .on('close', () => (endDelayMs === undefined ? end() : setTimeout(end, endDelayMs)));
    }
    join(client, server);
  });
  const listen = async (at: number): Promise<void> => {
    front.listen(path === undefined ? { port: at, host: '127.0.0.1' } : { path });
    await once(front, 'listening');
  };
  await listen(port);
  const { port: own = 0 } = front.address() as Partial<AddressInfo>;
  return {
    port: own,
    sockets,
    refuse() {
      front.close();
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      if (!front.listening) return;
      front.close();
      await once(front, 'close');
    },
    reopen: () => listen(own),
  };
}
