import { setTimeout as sleep } from 'node:timers/promises';
import { type ClientUnaryCall, credentials, status } from '@grpc/grpc-js';
import { onTestFinished } from 'vitest';
import { RouteServiceClient } from '../../../src/gen/routing/v1/route_service.js';
import { metadataOf, routeTo, tokenFor } from '../../support/service.js';

/** How long the callers of a crowd wait, in milliseconds: less than the service's own limit. */
const PATIENCE_MS = 700;
const CONNECTIONS = 8;

/** Callers that all create routes at once and give up early. */
interface Crowd {
  /** Creates one route over each connection, without a deadline; resolves with the names of the statuses. */
  createFew(): Promise<string[]>;
  /** Creates routes at once, and gives up after 700 ms; resolves 1,400 ms later with the number of calls by status. */
  createMany(count: number): Promise<Record<string, number>>;
}

/** A crowd that gives up by a deadline or by cancelling. */
export function crowdOf(address: string, way: 'the deadline passed' | 'the caller cancelled'): Crowd {
  const metadata = metadataOf(tokenFor());
  const clients = Array.from(
    { length: CONNECTIONS },
    () =>
      new RouteServiceClient(address, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 }),
  );
  onTestFinished(() => {
    for (const client of clients) client.close();
  });
  const create = (index: number, handler: string, options: { deadline?: number }) => {
    const client = clients[index % CONNECTIONS];
    if (client === undefined) throw new Error('There are no clients.');
    const route = routeTo(handler);
    let call: ClientUnaryCall | undefined;
    const end = new Promise<string>((resolve) => {
      call = client.createRoute({ route, requestId: '', validateOnly: false }, metadata, options, (error) => {
        resolve(status[error?.code ?? status.OK]);
      });
    });
    return { end, cancel: () => call?.cancel() };
  };
  return {
    createFew: () => Promise.all(clients.map((_, i) => create(i, `few${i}`, {}).end)),
    async createMany(count) {
      const options = way === 'the deadline passed' ? { deadline: Date.now() + PATIENCE_MS } : {};
      const calls = Array.from({ length: count }, (_, i) => create(i, `many${i}`, options));
      await sleep(PATIENCE_MS);
      if (way === 'the caller cancelled') for (const { cancel } of calls) cancel();
      const ends: Record<string, number> = {};
      for (const end of await Promise.all(calls.map((call) => call.end))) ends[end] = (ends[end] ?? 0) + 1;
      await sleep(2 * PATIENCE_MS);
      return ends;
    },
  };
}
