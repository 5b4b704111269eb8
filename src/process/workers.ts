import cluster from 'node:cluster';
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { LIMIT_MS } from './closing.js';
import { STOP_SIGNALS } from './stop-signals.js';
import type { WorkerAddresses } from './worker-messages.js';
import { type WorkerEnd, WorkerProcess } from './worker-process.js';

/** A worker that has run for this long, in milliseconds, is replaced at once when it ends. */
const STEADY_MS = 60_000;
/** The pause before other replacements, in milliseconds; it doubles each time, up to the longest. */
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;
/** A signal to a process group reaches all its processes within this time, in milliseconds. */
const GROUP_MS = 100;
/** How long a worker may take to end after the drain, in milliseconds: its own limit on closing, and a second. */
const END_LIMIT_MS = LIMIT_MS + 1_000;

/** The options of running workers. */
export interface WorkersOptions {
  /** The number of workers, at least one. */
  readonly count: number;
  /** How long each keeps serving after it was told to stop, in milliseconds. */
  readonly drainMs: number;
  readonly logger: Logger;
  /** Called with each process that is started. */
  readonly onStarted: (worker: WorkerProcess) => void;
  /** Aborts a start, and ends everything that it has started. */
  readonly stop?: AbortSignal | undefined;
}

/** The service as run by its workers. */
export interface RunningWorkers {
  readonly addresses: WorkerAddresses;
  /**
   * Tells all workers to stop, and kills those that have not ended in time. Resolves when all have ended, with whether
   * none was killed.
   *
   * @throws Error when one of them failed to close something
   */
  close(): Promise<boolean>;
}

/**
 * Starts worker processes, which run this program and share its ports: first one, since a cause of failure would affect
 * all of them, then the others. A worker that ends, or that a signal asks to stop, is replaced.
 *
 * @throws Error with the first worker's reason when it cannot start
 */
export async function startWorkers(options: WorkersOptions): Promise<RunningWorkers> {
  const workers = new Workers(options);
  const close = (): Promise<boolean> => workers.close();
  options.stop?.addEventListener('abort', () => void close().catch(() => undefined), { once: true });
  return { addresses: await workers.start(), close };
}

class Workers {
  readonly #options: WorkersOptions;
  readonly #running = new Set<WorkerProcess>();
  #closed: Promise<boolean> | undefined;

  constructor(options: WorkersOptions) {
    this.#options = options;
    // Workers accept connections themselves: passed on by this process, they would be lost with a worker that dies or
    // hangs meanwhile. Fixed by the first fork.
    cluster.schedulingPolicy = cluster.SCHED_NONE;
    // However this process ends, it leaves no worker behind.
    process.once('exit', () => {
      for (const worker of this.#running) worker.kill();
    });
  }

  async start(): Promise<WorkerAddresses> {
    const first = this.#fork(1);
    const addresses = await first.listening;
    const workers = [first];
    while (workers.length < this.#options.count && this.#closed === undefined)
      workers.push(this.#fork(workers.length + 1));
    for (const worker of workers) void this.#keep(worker);
    await Promise.allSettled(workers.map(({ listening }) => listening));
    return addresses;
  }

  close(): Promise<boolean> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  /** Follows a worker and its successors until all are told to stop. */
  async #keep(first: WorkerProcess): Promise<void> {
    const { logger } = this.#options;
    const { number } = first;
    const leaving: WorkerProcess[] = [];
    let pauseMs = 0;
    for (let worker = first; ; worker = this.#fork(number)) {
      const begunAt = performance.now();
      void worker.ended.then(({ late, ...end }) => {
        if (!worker.stopping) logger.error({ worker: number, ...end }, 'a worker has ended unexpectedly');
        else if (late) logger.warn({ worker: number }, 'a worker did not stop in time, and was killed');
      });
      await worker.listening.then(
        () => {
          logger.info({ worker: number, workerPid: worker.pid }, 'a worker serves');
          // The workers that want to stop have a replacement now.
          for (const old of leaving.splice(0)) this.#stop(old);
        },
        () => undefined,
      );
      const leaves = await Promise.race([worker.leaving.then(() => true), worker.ended.then(() => false)]);
      if (leaves) {
        leaving.push(worker);
        await delay(GROUP_MS);
      } else {
        const steady = performance.now() - begunAt >= STEADY_MS;
        pauseMs = steady ? 0 : Math.min(Math.max(2 * pauseMs, FIRST_PAUSE_MS), LONGEST_PAUSE_MS);
        await delay(pauseMs);
      }
      if (this.#closed !== undefined) return;
    }
  }

  #fork(number: number): WorkerProcess {
    const worker = new WorkerProcess(number);
    this.#running.add(worker);
    void worker.ended.then(() => this.#running.delete(worker));
    this.#options.onStarted(worker);
    return worker;
  }

  #stop(worker: WorkerProcess): void {
    worker.stop(this.#options.drainMs + END_LIMIT_MS);
  }

  async #close(): Promise<boolean> {
    const workers = [...this.#running];
    for (const worker of workers) this.#stop(worker);
    const ends = await Promise.all(workers.map(({ ended }) => ended));
    const failed = ends.filter((end) => !end.late && !isOrderly(end));
    if (failed.length > 0) throw new Error(`${failed.length} of ${ends.length} workers failed to close.`);
    return !ends.some(({ late }) => late);
  }
}

/** Whether it closed everything. One that a stop signal ended at once had not even begun. */
function isOrderly({ exitCode, signal }: WorkerEnd): boolean {
  return exitCode === 0 || STOP_SIGNALS.some((each) => each === signal);
}
