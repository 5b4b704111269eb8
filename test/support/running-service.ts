import { onTestFinished } from 'vitest';
import { type Service, type ServiceOptions, startService } from './service.js';

/** Starts the service until the end of the test, by default on an empty database in memory. */
export async function runningService(options: Partial<ServiceOptions> = {}): Promise<Service> {
  const service = await startService({ databaseUrl: 'sqlite::memory:', ...options });
  onTestFinished(() => service.close());
  return service;
}
