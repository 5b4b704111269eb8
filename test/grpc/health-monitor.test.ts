import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Health } from '../../src/grpc/health.js';
import { followStore } from '../../src/grpc/health-monitor.js';

const LIMIT_MS = 20;
const INTERVAL_MS = 10;

/** A store that answers a ping when it is not silent. */
class Store {
  asked = 0;
  #answered = Promise.resolve();
  #answer: () => void = () => undefined;

  readonly ping = async (): Promise<void> => {
    this.asked++;
    await this.#answered;
  };

  fallSilent(): void {
    this.#answered = new Promise((resolve) => (this.#answer = resolve));
  }

  answer(): void {
    this.#answer();
  }
}

async function follow(): Promise<{ health: Health; store: Store }> {
  const health = new Health([]);
  const store = new Store();
  const logger = pino({ level: 'silent' });
  onTestFinished(await followStore(health, store.ping, logger, INTERVAL_MS, LIMIT_MS));
  return { health, store };
}

describe('while the store is silent', () => {
  it('the health is not serving from the limit of a ping on, until the store answers', async () => {
    const { health, store } = await follow();
    expect(health.serving).toBe(true);
    store.fallSilent();
    await expect.poll(() => health.serving).toBe(false);
    store.answer();
    await expect.poll(() => health.serving).toBe(true);
  });

  it('no ping is sent beside one that is not answered', async () => {
    const { health, store } = await follow();
    store.fallSilent();
    await expect.poll(() => health.serving).toBe(false);
    const { asked } = store;
    await delay(5 * (LIMIT_MS + INTERVAL_MS));
    expect(store.asked).toBe(asked);
  });
});
