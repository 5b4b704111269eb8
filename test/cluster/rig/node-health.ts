import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';

/** A node that does not respond within this time is unhealthy, in milliseconds. */
const PATIENCE_MS = 800;

/**
 * Starts an HTTP server that responds with 200 while the node is healthy, else with 503, like the health checks that
 * database clusters offer to load balancers. It stops with the test.
 *
 * @returns its port
 */
export async function startHealthCheck(isHealthy: () => Promise<boolean>): Promise<number> {
  const server = createServer((_request, response) => {
    const answer = isHealthy().catch(() => false);
    void Promise.race([answer, sleep(PATIENCE_MS, false, { ref: false })]).then((healthy) => {
      response.writeHead(healthy ? 200 : 503, { connection: 'close' }).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  return (server.address() as AddressInfo).port;
}
