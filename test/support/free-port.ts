import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';

/**
 * Returns a loopback port on which nothing listens. Use it for addresses that must be unreachable, and for programs
 * that cannot report the port that they were given: HAProxy, MariaDB, MySQL, Prometheus, and the commands of the
 * README. Everything else that the tests start listens on port 0 and reports its port.
 */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
