import { expect, it, onTestFinished } from 'vitest';
import { type Engine, engines } from '../support/engines.js';
import { describeOn } from '../support/needs.js';
import { createReplicatedDatabase, type ReplicatedDatabase } from '../support/replicated-database.js';
import {
  create,
  get,
  metadataOf,
  routeTo,
  type Service,
  startService,
  tokenFor,
} from '../support/service.js';
import { proxyDatabase, type TcpProxy } from '../support/tcp-proxy.js';

const REQUEST = { route: routeTo('h'), requestId: '', validateOnly: false };
const SERVES = 'the replica serves gets';
const LEFT_OUT = 'the replica is left out until it can serve gets again';

interface Started {
  readonly database: ReplicatedDatabase;
  readonly proxy: TcpProxy;
  readonly service: Service;
}

/** A service that keeps nothing in memory, with a replica behind a network that can be cut. */
async function start(engine: Engine): Promise<Started> {
  const database = await createReplicatedDatabase(engine);
  onTestFinished(() => database.drop());
  const { proxy, url } = await proxyDatabase(database.replica.url);
  const service = await startService({
    databaseUrl: database.primary.url,
    settings: { ROUTE_CACHE_MIB: '0', DATABASE_REPLICA_URLS: url },
  });
  onTestFinished(() => service.close());
  return { database, proxy, service };
}

describeOn(engines.slice(1))('with a replica on $name', (engine) => {
  it('gets go there, and to the primary while it is away, which no client notices', async () => {
    const { database, proxy, service } = await start(engine);
    const metadata = metadataOf(tokenFor());
    const heard = (message: string): boolean => service.log.some((line) => line['msg'] === message);
    await expect.poll(() => heard(SERVES)).toBe(true);
    const { route } = await create(service.client, REQUEST, metadata);
    const id = route?.id ?? '';
    await expect(get(service.client, id, metadata)).resolves.toMatchObject({ route: { id } });

    await database.replicate();
    await database.primary.knex('routes').del();
    await expect(get(service.client, id, metadata)).resolves.toMatchObject({ route: { id } });

    await proxy.close();
    const { route: later } = await create(service.client, REQUEST, metadata);
    await expect(get(service.client, later?.id ?? '', metadata)).resolves.toMatchObject({ route: later });
    await expect.poll(() => heard(LEFT_OUT), { timeout: 10_000 }).toBe(true);
    const { status } = await fetch(`${service.httpUrl}/healthz`);
    expect(status).toBe(200);
    expect(JSON.stringify(service.log)).not.toContain(`:${new URL(database.replica.url).password}@`);
  });
});
