import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Database, engines } from '../support/engines.js';
import { create, metadataOf, type Service, startService, tokenFor } from '../support/service.js';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.js';

const REQUEST = {
  route: { id: '', method: 'GET', path: '/', middleware: [], handler: 'h', createdAt: undefined },
  requestId: '',
  validateOnly: false,
};

describe.each(engines.slice(1))('when the network loses the connections to $name', (engine) => {
  let database: Database;
  let proxy: TcpProxy;
  let service: Service;

  beforeAll(async () => {
    database = await engine.createDatabase();
    const url = new URL(database.url);
    proxy = await startTcpProxy(Number(url.port));
    url.port = String(proxy.port);
    service = await startService({ databaseUrl: url.href, settings: { DEADLINE_MS: '300' } });
  });

  afterAll(async () => {
    await service.close();
    await proxy.close();
    await database.drop();
  });

  const createOne = async (): Promise<number> => {
    const { error } = await create(service.client, REQUEST, metadataOf(tokenFor()));
    return error?.code ?? 0;
  };

  it('calls fail as unavailable or late, and succeed again over new connections', async () => {
    await expect(createOne()).resolves.toBe(0);
    proxy.loseConnections();
    const codes = await Promise.all(Array.from({ length: 20 }, createOne));
    expect(new Set(codes)).toEqual(new Set(codes.map((code) => (code === 4 ? 4 : 14))));
    await expect.poll(createOne, { timeout: 10_000 }).toBe(0);
    const { status } = await fetch(`${service.httpUrl}/healthz`);
    expect(status).toBe(200);
  });
});

describe.each(engines.slice(1))('when calls may wait for $name for long', (engine) => {
  let database: Database;
  let proxy: TcpProxy;
  let service: Service;

  beforeAll(async () => {
    database = await engine.createDatabase();
    const url = new URL(database.url);
    proxy = await startTcpProxy(Number(url.port));
    url.port = String(proxy.port);
    service = await startService({ databaseUrl: url.href, settings: { DEADLINE_MS: '30000' } });
  });

  afterAll(async () => {
    await service.close();
    await proxy.close();
    await database.drop();
  });

  it('the health is not serving seconds after its connections are lost, and serving again over new ones', async () => {
    const health = async (): Promise<number> => (await fetch(`${service.httpUrl}/healthz`)).status;
    await expect(health()).resolves.toBe(200);
    proxy.loseConnections();
    await expect.poll(health, { timeout: 8_000 }).toBe(503);
    await expect.poll(health, { timeout: 8_000 }).toBe(200);
  });
});
