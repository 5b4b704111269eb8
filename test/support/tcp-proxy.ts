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
  /** Takes connections at the same port again, and no longer blocks any, once it is closed. */
  reopen(): Promise<void>;
}

/** Starts a proxy on loopback, on a free port if none is given, to a port on loopback. */
export async function startTcpProxy(targetPort: number, port?: number): Promise<TcpProxy> {
  let stalled = false;
  const front = await startTcpFront(
    targetPort,
    (client, server) => {
      if (!stalled) client.pipe(server).pipe(client);
    },
    { port },
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
    reopen() {
      stalled = false;
      return front.reopen();
    },
  };
}

/** A network that can lose connections, and the URL of the database behind it. */
interface ProxiedDatabase {
  readonly proxy: TcpProxy;
  readonly url: string;
}

/** Starts a proxy to a database. It ends with the test. */
export async function proxyDatabase(databaseUrl: string): Promise<ProxiedDatabase> {
  const proxy = await startTcpProxy(Number(new URL(databaseUrl).port));
  onTestFinished(() => proxy.close());
  return { proxy, url: throughPort(databaseUrl, proxy.port) };
}

/** A new database behind a proxy; both end with the test. */
export async function createProxiedDatabase(engine: Engine): Promise<ProxiedDatabase> {
  const database = await engine.createDatabase();
  onTestFinished(() => database.drop());
  return proxyDatabase(database.url);
}

/** The same database, reached over another port. */
export function throughPort(databaseUrl: string, port: number): string {
  const url = new URL(databaseUrl);
  url.port = String(port);
  return url.href;
}
