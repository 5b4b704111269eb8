import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A listener on loopback that stands before a server. */
export interface TcpFront {
  readonly port: number;
  /** The sockets of both sides that were ever opened. */
  readonly sockets: ReadonlySet<Socket>;
  /** Refuses further connections. */
  refuse(): void;
  /** Closes every connection and refuses later ones. */
  close(): Promise<void>;
}

/**
 * Starts a front on loopback. When one side of a connection ends, so does the other.
 *
 * @param join is called for each connection with its two sides, and decides what passes between them
 * @param port default: a free one
 */
export async function startTcpFront(
  targetPort: number,
  join: (client: Socket, server: Socket) => void,
  port = 0,
): Promise<TcpFront> {
  const sockets = new Set<Socket>();
  const front = createServer((client) => {
    const server = connect(targetPort, '127.0.0.1');
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(one);
      one.on('error', () => other.destroy()).on('close', () => other.destroy());
    }
    join(client, server);
  });
  front.listen(port, '127.0.0.1');
  await once(front, 'listening');
  return {
    port: (front.address() as AddressInfo).port,
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
  };
}
