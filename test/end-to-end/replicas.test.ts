import { expect, it, onTestFinished } from 'vitest';
import { engines } from '../support/engines.js';
import { describeOn } from '../support/needs.js';
import { createReplicatedDatabase } from '../support/replicated-database.js';
import { healthOf, requestOf } from '../support/requests.js';
import { runningService } from '../support/running-service.js';
import { create, get, metadataOf, tokenFor } from '../support/service.js';
import { proxyDatabase } from '../support/tcp-proxy.js';

const SERVES = 'the replica serves gets';
const LEFT_OUT = 'the replica is left out until it can serve gets again';

describeOn(engines.slice(1))('with a replica on $name', (engine) => {
  it('gets go there, and to the primary while it is away, which no client notices', async () => {
    const database = await createReplicatedDatabase(engine);
    onTestFinished(() => database.drop());
    const { proxy, url } = await proxyDatabase(database.replica.url);
    const service = await runningService({
      databaseUrl: database.primary.url,
      settings: { ROUTE_CACHE_MIB: '0', DATABASE_REPLICA_URLS: url },
      dependencies: { checkMs: 50 },
    });
    const metadata = metadataOf(tokenFor());
    const heard = (message: string): boolean => service.log.some((line) => line['msg'] === message);
    await expect.poll(() => heard(SERVES)).toBe(true);
    const { route } = await create(service.client, requestOf(), metadata);
    const id = route?.id ?? '';
    await expect(get(service.client, id, metadata)).resolves.toMatchObject({ route: { id } });

    await database.replicate();
    await database.primary.knex('routes').del();
    await expect(get(service.client, id, metadata)).resolves.toMatchObject({ route: { id } });

    await proxy.close();
    const { route: later } = await create(service.client, requestOf(), metadata);
    await expect(get(service.client, later?.id ?? '', metadata)).resolves.toMatchObject({ route: later });
    await expect.poll(() => heard(LEFT_OUT)).toBe(true);
    await expect(healthOf(service)).resolves.toBe(200);
    expect(JSON.stringify(service.log)).not.toContain(`:${new URL(database.replica.url).password}@`);
  });
});
