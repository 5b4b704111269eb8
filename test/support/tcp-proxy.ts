import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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

/** Starts a proxy to a loopback port. @param at its loopback port, default a free one, or the path of its unix socket */
export async function startTcpProxy(targetPort: number, at?: number | string): Promise<TcpProxy> {
  let stalled = false;
  const front = await startTcpFront(
    targetPort,
    (client, server) => {
      if (!stalled) client.pipe(server).pipe(client);
    },
    typeof at === 'string' ? { path: at } : { port: at },
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

/** Starts a proxy with a unix socket to a database. Both are removed when the test ends. */
async function proxyBySocket(databaseUrl: string): Promise<ProxiedDatabase> {
  const url = new URL(databaseUrl);
  // A short path, since that of a socket has at most 107 bytes.
  const folder = mkdtempSync(join(tmpdir(), 'socket-'));
  const path = join(folder, 's');
  const proxy = await startTcpProxy(Number(url.port), path);
  onTestFinished(async () => {
    await proxy.close();
    rmSync(folder, { recursive: true });
  });
  // No port leads anywhere.
  Object.assign(url, { hostname: 'localhost', port: '1' });
  url.searchParams.set('socket', path);
  return { proxy, url: url.href };
}

/** Creates a database behind a proxy. Both are removed when the test ends. */
export async function createProxiedDatabase(
  engine: Engine,
  by: 'a port' | 'a unix socket' = 'a port',
): Promise<ProxiedDatabase> {
  const database = await engine.createDatabase();
  onTestFinished(() => database.drop());
  return by === 'a port' ? proxyDatabase(database.url) : proxyBySocket(database.url);
}

/** The URL of the same database through another port. */
export function throughPort(databaseUrl: string, port: number): string {
  const url = new URL(databaseUrl);
  url.port = String(port);
  return url.href;
}
