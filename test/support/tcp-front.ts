import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A listener on loopback that stands before a server. */
interface TcpFront {
  readonly port: number;
  /** The sockets of both sides that were ever opened. */
  readonly sockets: ReadonlySet<Socket>;
  /** Refuses further connections. */
  refuse(): void;
  /** Closes every connection and refuses later ones. */
  close(): Promise<void>;
  /** Takes connections at the same port again, once it is closed. */
  reopen(): Promise<void>;
}

/** Where a front listens, and how it ends connections. */
interface TcpFrontOptions {
  /** Default: a free one. */
  readonly port?: number | undefined;
  /** How much later than one side of a connection the other one ends, in milliseconds; default: at once. */
  readonly endDelayMs?: number;
}

/**
 * Starts a front on loopback. When one side of a connection ends, so does the other.
 *
 * @param join is called for each connection with its two sides, and decides what passes between them
 */
export async function startTcpFront(
  targetPort: number,
  join: (client: Socket, server: Socket) => void,
  { port = 0, endDelayMs }: TcpFrontOptions = {},
): Promise<TcpFront> {
  const sockets = new Set<Socket>();
  const front = createServer((client) => {
    const server = connect(targetPort, '127.0.0.1');
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(one);
      const end = (): unknown => other.destroy();
      one
        .on('error', end)
        .on('close', () => (endDelayMs === undefined ? end() : setTimeout(end, endDelayMs)));
    }
    join(client, server);
  });
  const listen = async (at: number): Promise<void> => {
    front.listen(at, '127.0.0.1');
    await once(front, 'listening');
  };
  await listen(port);
  const { port: own } = front.address() as AddressInfo;
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
