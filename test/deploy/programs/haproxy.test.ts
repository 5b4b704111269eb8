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

interface Shown {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | null>>;
  readonly error: object;
}

/** A response to a request with this id, without what each server words in its own way. */
async function answerOf(url: string): Promise<Shown> {
  const headers = { authorization: `Bearer ${tokenFor()}`, 'x-request-id': 'the-"id"' };
  const response = await fetch(`${url}${PATH}`, { headers });
  const { error } = (await response.json()) as { error: { message: string } };
  const names = ['content-type', 'cache-control', 'retry-after', 'x-request-id'];
  return {
    status: response.status,
    headers: Object.fromEntries(names.map((name) => [name, response.headers.get(name)])),
    error: { ...error, message: '' },
  };
}

/** What a gateway of the service answers when it cannot reach its server. */
async function ownAnswer(): Promise<Shown> {
  const env = { ...FREE_PORTS, OPS_ADDRESS: 'off', ROLE: 'gateway', GRPC_UPSTREAM: '127.0.0.1:1' };
  const app = await startApp(readConfig(env), { logger: pino({ level: 'silent' }) });
  onTestFinished(() => app.close().then(() => undefined));
  return answerOf(app.httpUrl ?? '');
}

/** Starts a server on an address of an instance. It is closed when the test ends. */
async function serve(server: Server, address = ''): Promise<void> {
  const { host, port } = splitAddress(address) ?? {};
  await once(server.listen(port, host), 'listening');
  onTestFinished(() => void server.close());
}

describe('HAProxy, as it is shipped', needs('haproxy'), () => {
  it('answers as the service does when no server is left, and gRPC clients see UNAVAILABLE', async () => {
    const { configuration, grpc, http } = await shippedInstances();
    await runHaproxy(configuration, Number(grpc.split(':')[1]));
    const expected = await ownAnswer();
    expect(expected).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
    await expect(answerOf(`http://${http}`)).resolves.toEqual(expected);

    const client = new RouteServiceClient(grpc, credentials.createInsecure());
    onTestFinished(() => {
      client.close();
    });
    const { error } = await get(client, 'unknown', metadataOf(tokenFor()));
    expect(error?.code).toBe(status.UNAVAILABLE);
  });

  it('answers as the service does when a server breaks the connection', async () => {
    const { configuration, grpc, http, instances } = await shippedInstances();
    for (const instance of instances) {
      const breaking = createTcpServer((socket) => {
        socket.once('data', () => socket.destroy());
      });
      await serve(breaking, instance['HTTP_ADDRESS']);
      await serve(
        createServer((_, response) => response.end()),
        instance['OPS_ADDRESS'],
      );
    }
    await runHaproxy(configuration, Number(grpc.split(':')[1]));
    await expect(answerOf(`http://${http}`)).resolves.toEqual(await ownAnswer());
  });
});
