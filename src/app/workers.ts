import type { App } from '../app.js';
import { startWorkers } from '../process/workers.js';
import type { Config } from '../settings/config.js';
import type { Surroundings } from './parts.js';
import { openWorkersOperations } from './workers-operations.js';

/**
 * Runs the service in worker processes that share its ports; each of them runs `startApp`. This process replaces them
 * and runs the operators' listener.
 *
 * @throws Error when something cannot be opened, like `startApp`
 */
export async function startInWorkers(config: Config, { logger, stop }: Surroundings): Promise<App> {
  const operations = await openWorkersOperations(config);
  const workers = await startWorkers({
    count: config.workers,
    drainMs: config.drainDelayMs,
    logger,
    stop,
    onStarted: operations.add,
  }).catch(async (error: unknown) => {
    await operations.close();
    throw error;
  });
  return {
    ...workers.addresses,
    opsUrl: operations.url,
    async close() {
      operations.drain();
      try {
        return await workers.close();
      } finally {
        await operations.close();
      }
    },
  };
}
