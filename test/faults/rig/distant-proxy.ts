import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/**
 * A network on which every byte takes a while, each way, between a client and a port on loopback. It ends with the
 * test.
 *
 * @param delayMs the time of one way, in milliseconds
 * @returns its port
 */
export async function startDistantProxy(targetPort: number, delayMs: number): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const target = connect(targetPort, '127.0.0.1');
    for (const [from, to] of [
      [client, target],
      [target, client],
    ] as const) {
      sockets.add(from);
      from.setNoDelay();
      // Timers of one length run in the order of their making, so bytes keep theirs.
      from.on('data', (bytes: Buffer) => setTimeout(() => to.write(bytes), delayMs));
      from.on('error', () => to.destroy()).on('close', () => setTimeout(() => to.destroy(), delayMs));
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  return (server.address() as AddressInfo).port;
}

/** The same database, reached over another port. */
export function throughPort(databaseUrl: string, port: number): string {
  const url = new URL(databaseUrl);
  url.port = String(port);
  return url.href;
}
