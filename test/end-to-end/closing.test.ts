import { mkdtempSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, inject, it, onTestFinished, vi } from 'vitest';
import { watchHealth } from '../support/health-client.js';
import { healthOf, post } from '../support/requests.js';
import { runningService } from '../support/running-service.js';
import { startService } from '../support/service.js';
import { startTcpFront } from '../support/tcp-front.js';

/** The folders of the service's own code. */
const OURS = ['src', 'packages/transcoder/src'].map(
  (folder) => `${resolve(import.meta.dirname, '../..', folder)}/`,
);
/** The pause between checks of the store, in milliseconds. */
const CHECK_MS = 20;
/** Longer than two requests take, in milliseconds. */
const DRAIN_MS = 2_000;

it('a draining service reports that it does not serve, even though the store answers, and answers calls', async () => {
  const settings = { DRAIN_DELAY_MS: String(DRAIN_MS) };
  const service = await runningService({ settings, dependencies: { checkMs: CHECK_MS } });
  const statuses = watchHealth(service.grpcAddress);
  await expect.poll(() => statuses).toEqual(['SERVING']);
  const messages = (): unknown[] => service.log.map(({ msg }) => msg);
  expect(messages()).toContain('the store answers');
  const before = service.log.length;
  const closed = service.close();
  await expect.poll(() => statuses).toEqual(['SERVING', 'NOT_SERVING']);
  expect(await healthOf(service)).toBe(503);
  expect((await post(service)).status).toBe(201);
  await closed;
  expect(statuses).toEqual(['SERVING', 'NOT_SERVING']);
  expect(messages().slice(before)).not.toContain('the store answers');
});

it('a closed service sets no more timers', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { setTimeout } = globalThis;
  let setters: string[] = [];
  const recorded = ((...timer: Parameters<typeof setTimeout>) => {
    setters.push(String(new Error('set').stack));
    return setTimeout(...timer);
  }) as typeof setTimeout;
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(recorded);
  onTestFinished(() => void vi.restoreAllMocks());
  // Clients of earlier tests in this process set timers, too.
  const ofService = (): string[] => setters.filter((stack) => OURS.some((folder) => stack.includes(folder)));
  const service = await startService({ databaseUrl: 'sqlite::memory:' });
  expect(ofService()).not.toEqual([]);
  await service.close();
  setters = [];
  await vi.advanceTimersByTimeAsync(60_000);
  expect(ofService()).toEqual([]);
});

it('a closed separate gateway leaves no connection to its server open', async () => {
  const { grpcAddress } = await runningService();
  const network = await startTcpFront(Number(grpcAddress.split(':')[1]), (client, server) => {
    client.pipe(server).pipe(client);
  });
  onTestFinished(() => network.close());
  const gateway = await runningService({ settings: { GRPC_UPSTREAM: `127.0.0.1:${network.port}` } });
  expect((await post(gateway)).status).toBe(201);
  const open = (): number => [...network.sockets].filter(({ destroyed }) => !destroyed).length;
  expect(open()).toBeGreaterThan(0);
  await gateway.close();
  await expect.poll(open).toBe(0);
});

it('a closed service leaves its routes in one file', async () => {
  const file = join(mkdtempSync(join(inject('temporaryFolder'), 'closing-')), 'routes.db');
  const service = await startService({ databaseUrl: `sqlite:${file}` });
  expect((await post(service)).status).toBe(201);
  expect(statSync(`${file}-wal`).size).toBeGreaterThan(0);
  await service.close();
  expect(statSync(`${file}-wal`).size).toBe(0);
});
