import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';

/** A node that does not answer in this time is not well, in milliseconds. */
const PATIENCE_MS = 800;

/**
 * Answers GET over HTTP with 200 while the question is answered with yes, else with 503, as the checks of database
 * clusters do for balancers. It ends with the test.
 *
 * @returns its port
 */
export async function startHealthCheck(isWell: () => Promise<boolean>): Promise<number> {
  const server = createServer((_request, response) => {
    const answer = isWell().catch(() => false);
    void Promise.race([answer, sleep(PATIENCE_MS, false, { ref: false })]).then((well) => {
      response.writeHead(well ? 200 : 503, { connection: 'close' }).end();
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
