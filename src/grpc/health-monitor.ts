import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Health } from './health.js';

/** The pause after each check of the store, in milliseconds. */
const INTERVAL_MS = 2_000;
/** How long the store may take to answer a check, in milliseconds, however long it may take for a call. */
const LIMIT_MS = 2_000;
const LATE = { err: new Error('The store has not answered in time.') };

/**
 * Keeps the health of the server in step with that of the store, from the first ping on. A ping that is late counts as
 * failed, and is waited for before there is another one.
 *
 * @returns after the first ping: a function that stops this
 */
export async function followStore(
  health: Health,
  ping: () => Promise<void>,
  logger: Logger,
  intervalMs = INTERVAL_MS,
  limitMs = LIMIT_MS,
): Promise<() => void> {
  let pending: Promise<{ err: unknown } | undefined> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const observe = async (): Promise<void> => {
    pending ??= ping()
      .then(
        () => undefined,
        (err: unknown) => ({ err }),
      )
      .finally(() => (pending = undefined));
    const answered = new AbortController();
    const late = delay(limitMs, LATE, { signal: answered.signal }).catch(() => undefined);
    const failure = await Promise.race([pending, late]);
    answered.abort();
    if (stopped) return;
    const serving = failure === undefined;
    if (serving && !health.serving) logger.info('the store answers: serving');
    if (!serving && health.serving) logger.warn(failure, 'the store does not answer: not serving');
    health.setServing(serving);
    timer = setTimeout(() => void observe(), intervalMs);
  };
  await observe();
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}
