import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { LIMIT_MS } from './closing.js';
import { STOP_SIGNALS } from './stop-signals.js';
import { type PrimaryMessage, WORKER_NUMBER, type WorkerAddresses, type WorkerMessage } from './worker.js';

/** How long after its exit a worker's last message may take to arrive, in milliseconds. */
const LAST_MESSAGE_MS = 100;
/** How long a worker may take to report, in milliseconds. */
const PATIENCE_MS = 1_000;

/** The options of running workers. */
export interface WorkersOptions {
  /** The number of workers, at least one. */
  readonly count: number;
  /** How long each keeps serving after it was told to stop, in milliseconds. */
  readonly drainMs: number;
  readonly logger: Logger;
  /** The pause before another worker takes the place of one that has ended, in milliseconds; default: 1,000. */
  readonly pauseMs?: number;
  /** How long workers may take to end after the drain; default: their own limit on closing, and a second. */
  readonly limitMs?: number;
}

interface WorkerEnd {
  /** Null if a signal ended it. */
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** Its own reason; absent if it gave none. */
  readonly problem: string | undefined;
}

interface Running {
  readonly number: number;
  readonly worker: Worker;
  /** Resolves when it serves; rejects, with its own reason, if it ends before. */
  readonly listening: Promise<WorkerAddresses>;
  readonly ended: Promise<WorkerEnd>;
}

/** Worker processes, which run this program and share its ports. One that ends is replaced. */
export class WorkerProcesses<Report> {
  readonly #options: Required<WorkersOptions>;
  readonly #running = new Set<Running>();
  readonly #serving = new Map<number, Worker>();
  #asking: Promise<ReadonlyMap<number, Report | undefined>> | undefined;
  #closed: Promise<boolean> | undefined;

  constructor(options: WorkersOptions) {
    this.#options = { pauseMs: 1_000, limitMs: LIMIT_MS + 1_000, ...options };
    // Workers accept connections themselves: passed on by this process, they would be lost with a worker that dies or
    // hangs meanwhile. Fixed by the first fork.
    cluster.schedulingPolicy = cluster.SCHED_NONE;
    // However this process ends, it leaves no worker behind.
    process.once('exit', () => {
      for (const { worker } of this.#running) worker.process.kill('SIGKILL');
    });
  }

  /**
   * Starts first one worker, since what makes it fail would make all of them fail, then the others.
   *
   * @throws Error with the first worker's reason when it cannot start
   */
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

  /** The reports of all workers that serve, by their numbers; undefined for one that gives none in time. */
  reports(): Promise<ReadonlyMap<number, Report | undefined>> {
    // Concurrent requests share the answers.
    this.#asking ??= Promise.all(
      Array.from(this.#serving, async ([number, worker]) => [number, await this.#ask(worker)] as const),
    )
      .then((answers) => new Map(answers))
      .finally(() => (this.#asking = undefined));
    return this.#asking;
  }

  /**
   * Tells all workers to stop, and kills those that have not ended in time. Resolves when all have ended, with whether
   * none was killed.
   *
   * @throws Error when one of them failed to close something
   */
  close(): Promise<boolean> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  #fork(number: number): Running {
    const worker = cluster.fork({ [WORKER_NUMBER]: String(number) });
    let problem: string | undefined;
    const ended = new Promise<WorkerEnd>((resolve) => {
      worker.once('exit', (exitCode: number | null, signal: string | null) => {
        this.#serving.delete(number);
        void delay(LAST_MESSAGE_MS).then(() => {
          resolve({ exitCode, signal, problem });
        });
      });
      worker.on('error', ({ message }) => {
        // Only a process that could not be started has no exit.
        if (worker.process.pid === undefined) resolve({ exitCode: null, signal: null, problem: message });
      });
    });
    const listening = new Promise<WorkerAddresses>((resolve, reject) => {
      worker.on('message', (message: WorkerMessage) => {
        if (message.kind === 'listening') resolve(message.addresses);
        else if (message.kind === 'failed') ({ problem } = message);
      });
      void ended.then((end) => {
        reject(new Error(end.problem ?? `a worker ended with ${end.signal ?? `exit code ${end.exitCode}`}.`));
      });
    });
    listening.then(
      () => {
        this.#serving.set(number, worker);
        this.#options.logger.info({ worker: number, workerPid: worker.process.pid }, 'a worker serves');
      },
      () => undefined,
    );
    const running = { number, worker, listening, ended };
    this.#running.add(running);
    void ended.then(() => this.#running.delete(running));
    return running;
  }

  /** Puts another worker in the place of each one that ends, until all are told to stop. */
  async #keep(first: Running): Promise<void> {
    const { number } = first;
    for (let { ended } = first; ; { ended } = this.#fork(number)) {
      const end = await ended;
      if (this.#closed === undefined && !isOrderly(end))
        this.#options.logger.error({ worker: number, ...end }, 'a worker has ended unexpectedly');
      await delay(this.#options.pauseMs);
      if (this.#closed !== undefined) return;
    }
  }

  async #ask(worker: Worker): Promise<Report | undefined> {
    const answer = once(worker, 'message', { signal: AbortSignal.timeout(PATIENCE_MS) });
    tell(worker, 'report');
    return answer.then(
      ([message]) => (message as { report: Report }).report,
      () => undefined,
    );
  }

  async #close(): Promise<boolean> {
    const { drainMs, limitMs, logger } = this.#options;
    const told = [...this.#running];
    const late = new Set<Running>();
    for (const { worker } of told) tell(worker, 'stop');
    const limit = setTimeout(() => {
      for (const running of this.#running) {
        late.add(running);
        logger.warn({ worker: running.number }, 'a worker did not stop in time, and was killed');
        running.worker.process.kill('SIGKILL');
      }
    }, drainMs + limitMs);
    let failed = 0;
    for (const running of told) if (!isOrderly(await running.ended) && !late.has(running)) failed++;
    clearTimeout(limit);
    if (failed > 0) throw new Error(`${failed} of ${told.length} workers failed to close.`);
    return late.size === 0;
  }
}

function tell(worker: Worker, kind: PrimaryMessage['kind']): void {
  if (worker.isConnected()) worker.send({ kind } satisfies PrimaryMessage);
}

/** Whether it closed everything. One that a stop signal ended at once had not even begun. */
function isOrderly({ exitCode, signal }: WorkerEnd): boolean {
  return exitCode === 0 || STOP_SIGNALS.some((each) => each === signal);
}
