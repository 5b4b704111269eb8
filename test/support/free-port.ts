import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';

/**
 * A loopback port on which nobody listens. It is for addresses that must not be reached, and for what cannot say which
 * port it was given: HAProxy, MariaDB, MySQL and Prometheus, and the commands of the README. Whatever else the tests
 * start listens on port 0 and says its port.
 */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
