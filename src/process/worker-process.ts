import cluster, { type Worker } from 'node:cluster';
import { EventEmitter, once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type PrimaryMessage,
  WORKER_NUMBER,
  type WorkerAddresses,
  type WorkerMessage,
} from './worker-messages.js';

/** How long after its exit a worker's last messages may take to arrive, in milliseconds. */
const LAST_WORDS_MS = 100;

/** The end of a worker. */
export interface WorkerEnd {
  /** Absent if a signal ended it. */
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** Its own reason; absent if it gave none. */
  readonly problem: string | undefined;
  /** Whether it took too long to stop, and was killed. */
  readonly late: boolean;
}

/**
 * A worker as seen by its primary process: a separate process that runs the same program and shares its ports. Emits
 * `report` for each report that it sends.
 */
export class WorkerProcess extends EventEmitter<{ report: [report: unknown] }> {
  /** Resolves when it serves; rejects, with its own reason, if it ends before. */
  readonly listening: Promise<WorkerAddresses>;
  /** Resolves when it was asked to stop by anyone but its primary process. */
  readonly leaving: Promise<void>;
  /** Resolves when it has ended and its last messages have had time to arrive. */
  readonly ended: Promise<WorkerEnd>;
  readonly #worker: Worker;
  #stopping = false;
  #late = false;

  /** @param number the number of the worker, from 1 */
  constructor(readonly number: number) {
    super();
    this.#worker = cluster.fork({ [WORKER_NUMBER]: String(number) });
    this.ended = this.#end();
    this.listening = Promise.race([
      this.#heard('listening').then(({ addresses }) => addresses),
      this.ended.then(({ problem, signal, exitCode }) => {
        throw new Error(problem ?? `a worker ended with ${signal ?? `exit code ${exitCode}`}.`);
      }),
    ]);
    // Most users of `ended` do not wait for `listening`.
    this.listening.catch(() => undefined);
    this.leaving = this.#heard('leaving').then(() => undefined);
    this.#worker.on('message', (message: WorkerMessage) => {
      if (message.kind === 'report') this.emit('report', message.report);
    });
  }

  get pid(): number | undefined {
    return this.#worker.process.pid;
  }

  /** Whether its primary process has told it to stop. */
  get stopping(): boolean {
    return this.#stopping;
  }

  /** Requests its report. Resolves with the report, or with undefined if none arrives in time. */
  async report(patienceMs: number): Promise<unknown> {
    const answer = once(this, 'report', { signal: AbortSignal.timeout(patienceMs) });
    this.#tell({ kind: 'report' });
    return answer.then(
      ([report]) => report as unknown,
      () => undefined,
    );
  }

  /** Tells it to stop, and kills it if it has not ended after `limitMs`. */
  stop(limitMs: number): void {
    if (this.#stopping) return;
    this.#stopping = true;
    this.#tell({ kind: 'stop' });
    const late = setTimeout(() => {
      this.#late = true;
      this.kill();
    }, limitMs);
    void this.ended.then(() => {
      clearTimeout(late);
    });
  }

  kill(): void {
    this.#worker.process.kill('SIGKILL');
  }

  #tell(message: PrimaryMessage): void {
    if (this.#worker.isConnected()) this.#worker.send(message);
  }

  #heard<Kind extends WorkerMessage['kind']>(kind: Kind): Promise<Extract<WorkerMessage, { kind: Kind }>> {
    return new Promise((resolve) => {
      this.#worker.on('message', (message: WorkerMessage) => {
        if (message.kind === kind) resolve(message as Extract<WorkerMessage, { kind: Kind }>);
      });
    });
  }

  #end(): Promise<WorkerEnd> {
    let problem: string | undefined;
    void this.#heard('failed').then((failed) => (problem = failed.problem));
    const disconnected = new Promise((resolve) => this.#worker.once('disconnect', resolve));
    return new Promise((resolve) => {
      this.#worker.once('exit', (exitCode: number | null, signal: string | null) => {
        // Its last messages may arrive after its exit. But Node does not report the end of the connection to a process
        // that died while a handle was being passed to it.
        void Promise.race([disconnected, delay(LAST_WORDS_MS)]).then(() => {
          resolve({ exitCode, signal, problem, late: this.#late });
        });
      });
      this.#worker.on('error', ({ message }) => {
        // An error of a process that could not be started; a running one has its own end.
        if (this.pid === undefined) resolve({ exitCode: null, signal: null, problem: message, late: false });
      });
    });
  }
}
