import type { MergedMetrics, Snapshot } from '../metrics/merged-metrics.js';
import { type OpsPages, startOpsServer } from '../ops/ops-server.js';
import type { ReadinessReport } from '../ops/readiness.js';
import { listening } from '../process/opening.js';
import type { WorkerProcess } from '../process/worker-process.js';
import { joinAddress } from '../settings/addresses.js';
import type { Config } from '../settings/config.js';

/** How long a worker may take to report, in milliseconds. */
const PATIENCE_MS = 1_000;

/** The checks of a worker that does not serve yet, or no longer. */
const STARTING: ReadinessReport['checks'] = { process: { ok: false, state: 'starting' } };
/** The checks of a worker that serves but does not report. */
const SILENT: ReadinessReport['checks'] = { process: { ok: false, state: 'no answer' } };

/** A worker's report on itself. */
export interface WorkerReport {
  readonly readiness: ReadinessReport;
  readonly metrics: Snapshot;
}

/** The operators' view of a service that runs in workers. */
export interface WorkersOperations {
  /** The base URL of its pages; absent without a listener. */
  readonly url: string | undefined;
  /** Includes a worker process from now on until it has ended. */
  readonly add: (worker: WorkerProcess) => void;
  /** Marks the service as about to stop, for good. */
  drain(): void;
  close(): Promise<void>;
}

const NONE: WorkersOperations = {
  url: undefined,
  add: () => undefined,
  drain: () => undefined,
  close: () => Promise.resolve(),
};

/** Opens the operators' listener. @throws Error when it cannot listen */
export async function openWorkersOperations({ ops, workers: count }: Config): Promise<WorkersOperations> {
  if (ops === undefined) return NONE;
  // Loaded only when metrics are on.
  const loaded = await import('../metrics/merged-metrics.js');
  const numbers = Array.from({ length: count }, (_, i) => i + 1);
  const pages = new WorkersPages(numbers, new loaded.MergedMetrics(numbers));
  const { host, port } = ops;
  const server = await listening('OPS_ADDRESS', joinAddress(host, port), () =>
    startOpsServer(host, port, pages),
  );
  return {
    url: `http://${joinAddress(host, server.port)}`,
    add: (worker) => {
      pages.add(worker);
    },
    drain: () => {
      pages.draining = true;
    },
    close: () => server.close(),
  };
}

/** A worker that serves, and its latest report; undefined if it does not report. */
interface Answer {
  readonly number: number;
  readonly readiness: ReadinessReport | undefined;
}

/** The pages for operators; each page asks every worker that serves for its report. */
class WorkersPages implements OpsPages {
  draining = false;
  readonly metrics: OpsPages['metrics'];
  readonly #numbers: readonly number[];
  readonly #metrics: MergedMetrics;
  /** In the order in which they began to serve. */
  readonly #serving = new Set<WorkerProcess>();
  #asking: Promise<Answer[]> | undefined;

  constructor(numbers: readonly number[], metrics: MergedMetrics) {
    this.#numbers = numbers;
    this.#metrics = metrics;
    const text = (): Promise<string> => this.#ask().then(() => metrics.text());
    this.metrics = { text, contentType: metrics.contentType };
  }

  add(worker: WorkerProcess): void {
    worker.on('report', (report) => {
      this.#metrics.update(worker, (report as WorkerReport).metrics);
    });
    worker.listening.then(
      () => this.#serving.add(worker),
      () => undefined,
    );
    void worker.ended.then(() => {
      this.#serving.delete(worker);
      return this.#metrics.end(worker);
    });
  }

  /** Dead only when every serving worker hangs; one that ends is replaced. */
  async alive(): Promise<boolean> {
    const answers = await this.#ask();
    return answers.length === 0 || answers.some(({ readiness }) => readiness !== undefined);
  }

  /** Ready while at least one worker is: it gets all new connections while another is being replaced. */
  async readiness(): Promise<ReadinessReport> {
    const answers = await this.#ask();
    const checks = this.#numbers.flatMap((number) => {
      const latest = answers.findLast((answer) => answer.number === number);
      const own = latest === undefined ? STARTING : (latest.readiness?.checks ?? SILENT);
      return Object.entries(own).map(([name, check]) => [`worker ${number}: ${name}`, check] as const);
    });
    const ready = answers.some(({ readiness }) => readiness?.status === 'ready');
    const status = ready ? 'ready' : answers.length === 0 ? 'starting' : 'not ready';
    return { status: this.draining ? 'draining' : status, checks: Object.fromEntries(checks) };
  }

  /** Concurrent requests share the answers. */
  #ask(): Promise<Answer[]> {
    this.#asking ??= Promise.all([...this.#serving].map(answerOf)).finally(() => (this.#asking = undefined));
    return this.#asking;
  }
}

async function answerOf(worker: WorkerProcess): Promise<Answer> {
  const report = (await worker.report(PATIENCE_MS)) as WorkerReport | undefined;
  return { number: worker.number, readiness: report?.readiness };
}
