import { credentials } from '@grpc/grpc-js';
import { onTestFinished } from 'vitest';
import {
  type HealthCheckResponse,
  HealthCheckResponse_ServingStatus,
  HealthClient,
} from '../../src/gen/healthcheck.js';

/** A client of the standard health service. It is closed when the test ends. */
export function healthClient(address: string): HealthClient {
  const client = new HealthClient(address, credentials.createInsecure());
  onTestFinished(() => {
    client.close();
  });
  return client;
}

/** Watches the status of the whole server until the test ends. Returns an array that collects the received statuses. */
export function watchHealth(address: string): readonly string[] {
  const statuses: string[] = [];
  healthClient(address)
    .watch({ service: '' })
    .on('data', ({ status }: HealthCheckResponse) => statuses.push(HealthCheckResponse_ServingStatus[status]))
    .on('error', () => undefined);
  return statuses;
}
