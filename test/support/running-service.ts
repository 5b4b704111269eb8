import { onTestFinished } from 'vitest';
import { type Service, type ServiceOptions, startService } from './service.js';

/** Starts the service, by default on an empty in-memory database. It is stopped when the test ends. */
export async function runningService(options: Partial<ServiceOptions> = {}): Promise<Service> {
  const service = await startService({ databaseUrl: 'sqlite::memory:', ...options });
  onTestFinished(() => service.close());
  return service;
}
