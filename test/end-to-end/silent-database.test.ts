import { expect, it, onTestFinished } from 'vitest';
import { type Engine, engines } from '../support/engines.js';
import { describeOn } from '../support/needs.js';
import { healthOf, requestOf } from '../support/requests.js';
import { runningService } from '../support/running-service.js';
import { create, metadataOf, type Service, tokenFor } from '../support/service.js';
import { createProxiedDatabase, type TcpProxy } from '../support/tcp-proxy.js';

/** A service whose database connections can be lost, with short limits for its checks. */
async function startThroughProxy(
  engine: Engine,
  deadlineMs: string,
): Promise<{ proxy: TcpProxy; service: Service }> {
  const { proxy, url } = await createProxiedDatabase(engine);
  const service = await runningService({
    databaseUrl: url,
    settings: { DEADLINE_MS: deadlineMs },
    dependencies: { checkMs: 50, checkLimitMs: 500 },
  });
  // Otherwise the service waits some time for connections that do not end.
  onTestFinished(() => proxy.close());
  return { proxy, service };
}

describeOn(engines.slice(1))('when the network loses the connections to $name', (engine) => {
  it('calls end in time with OK, UNAVAILABLE or DEADLINE_EXCEEDED, and succeed again over new connections', async () => {
    const { proxy, service } = await startThroughProxy(engine, '300');
    const createOne = async (): Promise<number> => {
      const { error } = await create(service.client, requestOf(), metadataOf(tokenFor()));
      return error?.code ?? 0;
    };
    await expect.poll(createOne).toBe(0);
    proxy.loseConnections();
    const codes = await Promise.all(Array.from({ length: 20 }, createOne));
    expect([0, 4, 14]).toEqual(expect.arrayContaining(codes));
    await expect.poll(createOne).toBe(0);
    await expect.poll(() => healthOf(service)).toBe(200);
  });

  it('health is 503, and 200 again over new connections', async () => {
    const { proxy, service } = await startThroughProxy(engine, '30000');
    await expect.poll(() => healthOf(service)).toBe(200);
    proxy.loseConnections();
    await expect.poll(() => healthOf(service)).toBe(503);
    await expect.poll(() => healthOf(service)).toBe(200);
  });
});
