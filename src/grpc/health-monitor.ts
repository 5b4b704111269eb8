import type { Logger } from 'pino';
import type { Health } from './health.js';

/** The interval between checks of the store, in milliseconds. */
const INTERVAL_MS = 2_000;

/**
 * Keeps the health of the server in step with that of the store, from the first ping on.
 *
 * @returns after the first ping: a function that stops this
 */
export async function followStore(
  health: Health,
  ping: () => Promise<void>,
  logger: Logger,
  intervalMs = INTERVAL_MS,
): Promise<() => void> {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const observe = async (): Promise<void> => {
    const failure = await ping().then(
      () => undefined,
      (err: unknown) => ({ err }),
    );
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
