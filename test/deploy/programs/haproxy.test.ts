import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createTcpServer, type Server } from 'node:net';
import { credentials, status } from '@grpc/grpc-js';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startApp } from '../../../src/app.js';
import { RouteServiceClient } from '../../../src/gen/routing/v1/route_service.js';
import { readConfig } from '../../../src/settings/config.js';
import { splitAddress } from '../../../src/settings/addresses.js';
import { runHaproxy } from '../../faults/rig/haproxy.js';
import { needs } from '../../support/needs.js';
import { FREE_PORTS, get, metadataOf, tokenFor } from '../../support/service.js';
import { shippedInstances } from '../../support/shipped-instances.js';

const PATH = '/v1/routing/unknown';
/** An id with characters that HAProxy has to escape in JSON. */
const REQUEST_ID = 'the-"id"';

/** What of a response is the same whoever sends it. */
interface ComparableResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | null>>;
  /** With an empty message: HAProxy and the service word it differently. */
  readonly error: object;
}

/** The response to a request for a route. */
async function getRoute(baseUrl: string): Promise<ComparableResponse> {
  const headers = { authorization: `Bearer ${tokenFor()}`, 'x-request-id': REQUEST_ID };
  const response = await fetch(`${baseUrl}${PATH}`, { headers });
  const { error } = (await response.json()) as { error: { message: string } };
  const names = ['content-type', 'cache-control', 'retry-after', 'x-request-id'];
  return {
    status: response.status,
    headers: Object.fromEntries(names.map((name) => [name, response.headers.get(name)])),
    error: { ...error, message: '' },
  };
}

/** What the service responds when it cannot reach a server: its gateway alone, whose upstream does not listen. */
async function responseWithoutServer(): Promise<ComparableResponse> {
  const env = { ...FREE_PORTS, OPS_ADDRESS: 'off', ROLE: 'gateway', GRPC_UPSTREAM: '127.0.0.1:1' };
  const app = await startApp(readConfig(env), { logger: pino({ level: 'silent' }) });
  onTestFinished(() => app.close().then(() => undefined));
  return getRoute(app.httpUrl ?? '');
}

/** Listens on this address of an instance, `host:port`. The server is closed when the test ends. */
async function listenOn(address: string | undefined, server: Server): Promise<void> {
  const place = splitAddress(address ?? '');
  if (place === undefined) throw new Error(`The instance has no such address: ${address}.`);
  await once(server.listen(place.port, place.host), 'listening');
  onTestFinished(() => void server.close());
}

describe('HAProxy, as it is shipped', needs('haproxy'), () => {
  describe('without a server', () => {
    it('responds to REST clients as the service does', async () => {
      const { configuration, grpc, http } = await shippedInstances();
      await runHaproxy(configuration, portOf(grpc));
      const expected = await responseWithoutServer();
      expect(expected).toMatchObject({
        status: 503,
        headers: { 'retry-after': '1', 'x-request-id': REQUEST_ID },
      });
      await expect(getRoute(`http://${http}`)).resolves.toEqual(expected);
    });

    it('responds to gRPC clients with UNAVAILABLE', async () => {
      const { configuration, grpc } = await shippedInstances();
      await runHaproxy(configuration, portOf(grpc));
      const client = new RouteServiceClient(grpc, credentials.createInsecure());
      onTestFinished(() => {
        client.close();
      });
      const { error } = await get(client, 'unknown', metadataOf(tokenFor()));
      expect(error?.code).toBe(status.UNAVAILABLE);
    });
  });

  it('responds as the service does when a server breaks the connection', async () => {
    const { configuration, grpc, http, instances } = await shippedInstances();
    for (const { HTTP_ADDRESS, OPS_ADDRESS } of instances) {
      const breaking = createTcpServer((socket) => {
        socket.once('data', () => socket.destroy());
      });
      await listenOn(HTTP_ADDRESS, breaking);
      // HAProxy's health check, by which it sends requests to the instance.
      const healthy = createServer((_, response) => response.end());
      await listenOn(OPS_ADDRESS, healthy);
    }
    await runHaproxy(configuration, portOf(grpc));
    await expect(getRoute(`http://${http}`)).resolves.toEqual(await responseWithoutServer());
  });
});

function portOf(address: string): number {
  return Number(address.split(':')[1]);
}
