import { resolve } from 'node:path';
import { rssMib } from '../../bench/process-usage.js';
import { type Ended, Program } from '../../test/support/process.js';
import { SERVICE_SETTINGS } from '../../test/support/service.js';

/** The program as `npm run build` makes it; this file is built into `dist/fuzz/fuzz/service/`. */
const MAIN = resolve(import.meta.dirname, '../../../main');
const LOOK_MS = 100;
/** Lines of the log that mean a defect. */
const ALARM = /^\{"level":"(?:error|fatal)".*$/m;
/** How many of the last measurements of memory count, and how many looks lie between two of them. */
const LOOKS_PER_MEASUREMENT = 5;

/** The service in a process of its own, under observation. */
export class WatchedService {
  readonly #program: Program;
  readonly #timer: NodeJS.Timeout;
  readonly #memoryMib: number[] = [];
  #read = 0;
  #looks = 0;
  #stopping = false;

  /** `host:port` of each face. */
  grpc = '';
  http = '';

  /** @param onAlarm is told of a line of the log at `error` or above, of text on stderr, and of a sudden end */
  private constructor(program: Program, onAlarm: (problem: string) => void) {
    this.#program = program;
    this.#timer = setInterval(() => {
      const problem = this.#look();
      if (problem !== undefined) onAlarm(problem);
    }, LOOK_MS);
    void program.ended.then((ended) => {
      clearInterval(this.#timer);
      if (!this.#stopping) onAlarm(`The service ended: ${JSON.stringify(lastWords(ended))}`);
    });
  }

  /** Starts it and waits until it listens. @param folder where it runs */
  static async start(
    folder: string,
    settings: Readonly<Record<string, string>>,
    onAlarm: (problem: string) => void,
  ): Promise<WatchedService> {
    const program = new Program(MAIN, [], folder, { ...SERVICE_SETTINGS, ...settings });
    const { grpc, http } = await program.line('listening');
    const service = new WatchedService(program, onAlarm);
    service.grpc = String(grpc);
    service.http = new URL(String(http)).host;
    return service;
  }

  /** Resident memory so far, twice a second, in MiB. */
  get memoryMib(): readonly number[] {
    return this.#memoryMib;
  }

  /** Ends it in order. Returns what was wrong with that. */
  async stop(): Promise<string[]> {
    this.#stopping = true;
    clearInterval(this.#timer);
    const ended = await this.#program.stop();
    const problem = this.#look();
    const problems = problem === undefined ? [] : [problem];
    return ended.exitCode === 0
      ? problems
      : [...problems, `The service did not stop in order: ${JSON.stringify(lastWords(ended))}`];
  }

  #look(): string | undefined {
    if (this.#looks++ % LOOKS_PER_MEASUREMENT === 0 && !this.#stopping)
      this.#memoryMib.push(rssMib(this.#program.pid));
    const { stdout, stderr } = this.#program;
    const line = ALARM.exec(stdout.slice(this.#read))?.[0];
    this.#read = stdout.lastIndexOf('\n') + 1;
    if (line !== undefined) return `The service logged: ${line}`;
    return stderr === '' ? undefined : `The service wrote to stderr: ${stderr}`;
  }
}

function lastWords({ exitCode, stdout, stderr }: Ended): object {
  return { exitCode, stdout: stdout.slice(-2_000), stderr: stderr.slice(-2_000) };
}
