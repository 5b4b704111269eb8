import cluster, { type Worker } from 'node:cluster';
import { EventEmitter, once } from 'node:events';
import {
  type PrimaryMessage,
  WORKER_NUMBER,
  type WorkerAddresses,
  type WorkerMessage,
} from './worker-messages.js';

/** How a worker ended. */
export interface WorkerEnd {
  /** Absent where a signal ended it. */
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** Why, in its own words; absent where it said nothing. */
  readonly problem: string | undefined;
  /** Whether it took too long to stop, and so was killed. */
  readonly late: boolean;
}

/**
 * A worker as its primary process sees it: a process of its own, which runs the same program and shares its ports. Emits
 * `report` with each one that it sends.
 */
export class WorkerProcess extends EventEmitter<{ report: [report: unknown] }> {
  /** Resolves when it serves; rejects, in its words, when it ends before. */
  readonly listening: Promise<WorkerAddresses>;
  /** Resolves when somebody else than its primary process wants it to stop. */
  readonly leaving: Promise<void>;
  /** Resolves when it has ended, and all that it said has been heard. */
  readonly ended: Promise<WorkerEnd>;
  readonly #worker: Worker;
  #stopping = false;
  #late = false;

  /** @param number which of the workers it is, from 1 on */
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
    // Most of those who wait for its end do not wait for its beginning.
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

  /** Asks it how it is. Resolves with its report, or undefined if there is none within the time. */
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
        // Its last words may come after its exit.
        void disconnected.then(() => {
          resolve({ exitCode, signal, problem, late: this.#late });
        });
      });
      this.#worker.on('error', ({ message }) => {
        // That it could not be started; one that runs has an end of its own.
        if (this.pid === undefined) resolve({ exitCode: null, signal: null, problem: message, late: false });
      });
    });
  }
}
