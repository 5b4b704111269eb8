import { cpuMs, rssMib } from '../process-usage.js';
import { type Call, GRPC_CONNECTIONS, type Load, type LoadResult } from './load.js';
import { percentile } from './percentile.js';
import { routeNumbers } from './route-numbers.js';

/** The load generator: a program that takes a `Load` as its argument and prints a `LoadResult`, both as JSON. */
async function main(): Promise<void> {
  const load = JSON.parse(process.argv[2] ?? '') as Load;
  const calls = await openCalls(load);
  const next = routeNumbers(load);
  await send(calls, next, load.warmUpMs);

  const before = usage(load);
  const latencies = await send(calls, next, load.durationMs);
  const after = usage(load);
  const requests = latencies.length;
  if (requests === 0) throw new Error('No request was answered.');
  const perRequest = (what: Exclude<keyof Usage, 'atMs'>): number => (after[what] - before[what]) / requests;
  const sorted = Float64Array.from(latencies).sort();
  const result: LoadResult = {
    sample: {
      rate: requests / ((after.atMs - before.atMs) / 1_000),
      serverCpuMs: perRequest('serverMs'),
      ...(load.databasePid === undefined ? {} : { databaseCpuMs: perRequest('databaseMs') }),
      loadCpuMs: perRequest('loadMs'),
      p50Ms: percentile(sorted, 50),
      p99Ms: percentile(sorted, 99),
      rssMib: sum(load.serverPids.map(rssMib)),
    },
    next: next() ?? load.stored,
  };
  process.stdout.write(`${JSON.stringify({ msg: 'measured', ...result })}\n`, () => process.exit(0));
}

/** Opens the callers. Loads only the module of the protocol in use, so that short runs start fast. */
async function openCalls(load: Load): Promise<Call[]> {
  switch (load.wire) {
    case 'grpc': {
      const { grpcCalls } = await import('./grpc-connection.js');
      return grpcCalls(load, GRPC_CONNECTIONS);
    }
    case 'http': {
      const { httpCall } = await import('./http-connection.js');
      return Array.from({ length: load.callers }, () => httpCall(load));
    }
  }
}

/** Sends requests from every caller for this long, each after the response to the last. Returns the latencies in ms. */
async function send(
  calls: readonly Call[],
  next: () => number | undefined,
  forMs: number,
): Promise<number[]> {
  const latencies: number[] = [];
  const end = performance.now() + forMs;
  await Promise.all(
    calls.map(async (call) => {
      for (;;) {
        const begun = performance.now();
        if (begun >= end) return;
        const n = next();
        if (n === undefined) return;
        await call(n);
        latencies.push(performance.now() - begun);
      }
    }),
  );
  return latencies;
}

interface Usage {
  readonly atMs: number;
  readonly serverMs: number;
  readonly databaseMs: number;
  readonly loadMs: number;
}

function usage(load: Load): Usage {
  return {
    atMs: performance.now(),
    serverMs: sum(load.serverPids.map(cpuMs)),
    databaseMs: load.databasePid === undefined ? 0 : cpuMs(load.databasePid),
    loadMs: cpuMs(process.pid),
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

await main();
