import { onTestFinished } from 'vitest';
import type { Engine } from './engines.js';
import { startTcpFront } from './tcp-front.js';

/** A simulated network between a client and a server that can lose connections silently. */
export interface TcpProxy {
  readonly port: number;
  /** The number of connections so far. */
  connections(): number;
  /** Blocks all traffic on existing connections, without notice to either side. New connections work. */
  loseConnections(): void;
  /** Blocks all traffic on existing and new connections. */
  stall(): void;
  /** Closes all connections and refuses new ones. */
  close(): Promise<void>;
  /** Accepts connections on the same port again and no longer blocks them, after `close`. */
  reopen(): Promise<void>;
}

/** Starts a proxy to a loopback port. @param port the loopback port of the proxy; default: a free one */
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
    connections: () => front.sockets.size / 2,
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

/** A proxy, and the URL of the database through it. */
interface ProxiedDatabase {
  readonly proxy: TcpProxy;
  readonly url: string;
}

/** Starts a proxy to a database. It is closed when the test ends. */
export async function proxyDatabase(databaseUrl: string): Promise<ProxiedDatabase> {
  const proxy = await startTcpProxy(Number(new URL(databaseUrl).port));
  onTestFinished(() => proxy.close());
  return { proxy, url: throughPort(databaseUrl, proxy.port) };
}

/** Creates a database behind a proxy. Both are removed when the test ends. */
export async function createProxiedDatabase(engine: Engine): Promise<ProxiedDatabase> {
  const database = await engine.createDatabase();
  onTestFinished(() => database.drop());
  return proxyDatabase(database.url);
}

/** The URL of the same database through another port. */
export function throughPort(databaseUrl: string, port: number): string {
  const url = new URL(databaseUrl);
  url.port = String(port);
  return url.href;
}
