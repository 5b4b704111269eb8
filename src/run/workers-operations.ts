import { type OpsPages, startOpsServer } from '../watch/ops-server.js';
import type { ReadinessReport } from '../watch/readiness.js';
import { listenOrExplain } from './open-or-explain.js';
import type { WorkerProcesses } from './worker-processes.js';
import { joinAddress } from '../settings/addresses.js';
import type { Config } from '../settings/config.js';

/** From what counts first for all workers. */
const STATUSES = ['ready', 'not ready', 'draining', 'starting'] as const;

/** A worker's report on itself. */
export interface WorkerReport {
  readonly readiness: ReadinessReport;
}

/** The operators' listener of a service that runs in workers. */
interface WorkersOperations {
  /** The base URL of its pages. */
  readonly url: string;
  close(): Promise<void>;
}

/** Opens the operators' listener, if there is one. @throws Error when it cannot listen */
export async function openWorkersOperations(
  { ops, workers: count }: Config,
  workers: WorkerProcesses<WorkerReport>,
): Promise<WorkersOperations | undefined> {
  if (ops === undefined) return undefined;
  const numbers = Array.from({ length: count }, (_, i) => i + 1);
  const pages: OpsPages = {
    // Dead only when every serving worker hangs; one that ends is replaced.
    alive: async () => {
      const reports = [...(await workers.reports()).values()];
      return reports.length === 0 || reports.some((report) => report !== undefined);
    },
    readiness: async () => readinessOf(numbers, await workers.reports()),
    metrics: { contentType: 'text/plain', text: () => Promise.resolve('') },
  };
  const { host, port } = ops;
  const server = await listenOrExplain('OPS_ADDRESS', joinAddress(host, port), () =>
    startOpsServer(host, port, pages),
  );
  return { url: `http://${joinAddress(host, server.port)}`, close: () => server.close() };
}

/** Ready while at least one worker is: it gets the new connections. @param reports of those that serve */
function readinessOf(
  numbers: readonly number[],
  reports: ReadonlyMap<number, WorkerReport | undefined>,
): ReadinessReport {
  const statuses = [...reports.values()].map((report) => report?.readiness.status ?? 'not ready');
  const checks = numbers.flatMap((number) => {
    const silent = { process: { ok: false, state: reports.has(number) ? 'no answer' : 'starting' } };
    const own = reports.get(number)?.readiness.checks ?? silent;
    return Object.entries(own).map(([name, check]) => [`worker ${number}: ${name}`, check] as const);
  });
  return {
    status: STATUSES.find((status) => statuses.includes(status)) ?? 'starting',
    checks: Object.fromEntries(checks),
  };
}
