import type { App } from '../app.js';
import { WorkerProcesses } from './worker-processes.js';
import type { Config } from '../settings/config.js';
import type { Dependencies } from './shared-parts.js';
import { openWorkersOperations, type WorkerReport } from './workers-operations.js';

/**
 * Runs the service in worker processes that share its ports; each of them runs `startApp`. This process replaces them
 * and runs the operators' listener.
 *
 * @throws Error when something cannot be opened, like `startApp`
 */
export async function startInWorkers(config: Config, { logger, stop }: Dependencies): Promise<App> {
  const workers = new WorkerProcesses<WorkerReport>({
    count: config.workers,
    drainMs: config.drainDelayMs,
    logger,
  });
  const operations = await openWorkersOperations(config, workers);
  stop?.addEventListener('abort', () => void workers.close().catch(() => undefined), { once: true });
  const addresses = await workers.start().catch(async (error: unknown) => {
    await operations?.close();
    throw error;
  });
  return {
    ...addresses,
    opsUrl: operations?.url,
    close: () => workers.close().finally(() => operations?.close()),
  };
}
