import { onTestFinished } from 'vitest';
import type { Engine } from './engines.js';
import { startTcpFront } from './tcp-front.js';

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
export async function startTcpProxy(targetPort: number, port?: number): Promise<TcpProxy> {
  let stalled = false;
  const front = await startTcpFront(
    targetPort,
    (client, server) => {
      if (!stalled) client.pipe(server).pipe(client);
    },
    port,
  );
  const loseConnections = (): void => {
    for (const socket of front.sockets) socket.unpipe().pause();
  };
  return {
    port: front.port,
    loseConnections,
    stall() {
      stalled = true;
      loseConnections();
    },
    close: () => front.close(),
  };
}

/** A database behind a network that can lose connections; both end with the test. */
export async function createProxiedDatabase(engine: Engine): Promise<{ proxy: TcpProxy; url: string }> {
  const database = await engine.createDatabase();
  onTestFinished(() => database.drop());
  const url = new URL(database.url);
  const proxy = await startTcpProxy(Number(url.port));
  onTestFinished(() => proxy.close());
  url.port = String(proxy.port);
  return { proxy, url: url.href };
}
