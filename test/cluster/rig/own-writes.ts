import { credentials } from '@grpc/grpc-js';
import { onTestFinished } from 'vitest';
import { percentile } from '../../../bench/load/percentile.js';
import { RouteServiceClient } from '../../../src/gen/routing/v1/route_service.js';
import { create, get, metadataOf, routeTo, tokenFor } from '../../support/service.js';
import type { ServiceProcess } from '../../faults/rig/service-process.js';

/** Routes that are under way at once. */
const CALLERS = 16;

/** The fate of routes that were created through one instance and got through another one at once. */
interface OwnWrites {
  readonly created: number;
  /** Created, and not found over gRPC or REST. */
  readonly notFound: number;
  /** Gets that ended otherwise, and creates that failed. */
  readonly failed: number;
  /** The 99th percentile of both gets of a route together, in milliseconds. */
  readonly p99Ms: number;
}

/** Creates routes through one instance, and gets each through another one, which has not seen it, as soon as it is acknowledged. */
export async function readOwnWrites(
  { first, second, routes }: { first: ServiceProcess; second: ServiceProcess; routes: number },
  halfway: () => Promise<void> = () => Promise.resolve(),
): Promise<OwnWrites> {
  const clients = [first, second].map(
    ({ grpc }) => new RouteServiceClient(grpc, credentials.createInsecure()),
  );
  onTestFinished(() => {
    for (const client of clients) client.close();
  });
  const [writer, reader] = clients as [RouteServiceClient, RouteServiceClient];
  const metadata = metadataOf(tokenFor());
  const headers = { authorization: `Bearer ${tokenFor()}` };
  const times: number[] = [];
  const counts = { created: 0, notFound: 0, failed: 0 };
  let next = 0;
  let half: Promise<void> | undefined;

  const one = async (number: number): Promise<void> => {
    const handler = `own${number}`;
    const created = await create(
      writer,
      { route: routeTo(handler), requestId: '', validateOnly: false },
      metadata,
    );
    const id = created.route?.id;
    if (id === undefined) {
      counts.failed++;
      return;
    }
    counts.created++;
    const begunAt = performance.now();
    const overGrpc = number % 2 === 0;
    const status = overGrpc
      ? ((await get(reader, id, metadata)).error?.code ?? 0)
      : (await fetch(`${second.http}/v1/routing/${id}`, { headers })).status;
    times.push(performance.now() - begunAt);
    if (status === (overGrpc ? 5 : 404)) counts.notFound++;
    else if (status !== (overGrpc ? 0 : 200)) counts.failed++;
  };
  const caller = async (): Promise<void> => {
    while (next < routes) {
      const number = next++;
      if (number === Math.floor(routes / 2)) half = halfway();
      await one(number);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  await half;
  return { ...counts, p99Ms: percentile(Float64Array.from(times).sort(), 99) };
}
