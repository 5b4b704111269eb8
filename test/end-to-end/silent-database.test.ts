import { expect, it, onTestFinished } from 'vitest';
import { type Engine, engines } from '../support/engines.js';
import { describeOn } from '../support/needs.js';
import { create, metadataOf, routeTo, startService, tokenFor } from '../support/service.js';
import { createProxiedDatabase } from '../support/tcp-proxy.js';

const REQUEST = { route: routeTo('h'), requestId: '', validateOnly: false };

/** A service whose connections to its database can be lost. */
async function startThroughProxy(engine: Engine, deadlineMs: string) {
  const { proxy, url } = await createProxiedDatabase(engine);
  const service = await startService({ databaseUrl: url, settings: { DEADLINE_MS: deadlineMs } });
  onTestFinished(() => service.close());
  return { proxy, service };
}

describeOn(engines.slice(1))('when the network loses the connections to $name', (engine) => {
  it('calls fail as unavailable or late, and succeed again over new connections', async () => {
    const { proxy, service } = await startThroughProxy(engine, '300');
    const createOne = async (): Promise<number> => {
      const { error } = await create(service.client, REQUEST, metadataOf(tokenFor()));
      return error?.code ?? 0;
    };
    await expect(createOne()).resolves.toBe(0);
    proxy.loseConnections();
    const codes = await Promise.all(Array.from({ length: 20 }, createOne));
    expect(new Set(codes)).toEqual(new Set(codes.map((code) => (code === 4 ? 4 : 14))));
    await expect.poll(createOne, { timeout: 10_000 }).toBe(0);
    const { status } = await fetch(`${service.httpUrl}/healthz`);
    expect(status).toBe(200);
  });

  it('the health is not serving seconds after its connections are lost, and serving again over new ones', async () => {
    const { proxy, service } = await startThroughProxy(engine, '30000');
    const health = async (): Promise<number> => (await fetch(`${service.httpUrl}/healthz`)).status;
    await expect(health()).resolves.toBe(200);
    proxy.loseConnections();
    await expect.poll(health, { timeout: 8_000 }).toBe(503);
    await expect.poll(health, { timeout: 8_000 }).toBe(200);
  });
});
