import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { moduleUrl, Program } from '../test/support/process.js';
import { SERVICE_SETTINGS } from '../test/support/service.js';

/** The program that `npm run build` creates; this file is compiled into `dist/fuzz/fuzz/`. */
const MAIN = resolve(import.meta.dirname, '../../main');
const LOOK_MS = 100;
/** How long the service has for a garbage collection, and for what closes meanwhile, in milliseconds. */
const SETTLING_MS = 500;
/** The file to which the service writes its heap size after each garbage collection: a line with the bytes. */
const HEAP_FILE = 'heap';
/** Garbage collections until the heap is at rest: some objects are only kept for the next one. */
const COLLECTIONS = 3;
const MIB = 2 ** 20;
/** Collects garbage in the service and measures its heap, on SIGUSR2. */
const COLLECTING = moduleUrl(`
  import { appendFileSync } from 'node:fs';
  import { setFlagsFromString } from 'node:v8';
  import { runInNewContext } from 'node:vm';
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc');
  process.on('SIGUSR2', () => {
    collect();
    const { heapUsed, external } = process.memoryUsage();
    appendFileSync('${HEAP_FILE}', heapUsed + external + '\\n');
  });
`);
/** Log levels that indicate a defect. */
const ALARMING = ['error', 'fatal'];
/** The number of log lines to show when the service has ended. */
const LAST_LINES = 10;
/** The time after which a service that does not stop is killed, in milliseconds. */
const STOP_LIMIT_MS = 60_000;

/** The service in a separate process, whose log, stderr and heap are monitored. */
export class WatchedService {
  readonly #program: Program;
  readonly #heapFile: string;
  readonly #onAlarm: (problem: string) => void;
  readonly #timer: NodeJS.Timeout;
  #lastLines: string[] = [];
  #errorsRead = 0;
  #stopping = false;
  #ended = false;

  /** `host:port` of each protocol. */
  grpc = '';
  http = '';

  /** @param onAlarm is called for an alarming or unreadable log line, output on stderr, and an unexpected exit */
  private constructor(program: Program, folder: string, onAlarm: (problem: string) => void) {
    this.#program = program;
    this.#heapFile = join(folder, HEAP_FILE);
    this.#onAlarm = onAlarm;
    this.#timer = setInterval(() => {
      this.#look();
    }, LOOK_MS);
    void program.ended.then(({ exitCode }) => {
      clearInterval(this.#timer);
      this.#ended = true;
      if (this.#stopping) return;
      this.#look();
      onAlarm(`The service ended: ${this.#lastWords(exitCode)}`);
    });
  }

  /** Starts the service and waits until it listens. @param folder its working directory */
  static async start(
    folder: string,
    settings: Readonly<Record<string, string>>,
    onAlarm: (problem: string) => void,
  ): Promise<WatchedService> {
    const program = new Program(MAIN, [], folder, {
      ...SERVICE_SETTINGS,
      ...settings,
      NODE_OPTIONS: `--import ${COLLECTING} ${settings['NODE_OPTIONS'] ?? ''}`,
    });
    const { grpc, http } = await program.line('listening');
    const service = new WatchedService(program, folder, onAlarm);
    service.grpc = String(grpc);
    service.http = new URL(String(http)).host;
    return service;
  }

  /**
   * Measures the heap and its external memory, in MiB, after garbage collections. To be called while there are no calls.
   * NaN if the service has ended.
   */
  async heapMib(): Promise<number> {
    rmSync(this.#heapFile, { force: true });
    let sizes: readonly string[] = [];
    while (sizes.length < COLLECTIONS && !this.#ended) {
      process.kill(this.#program.pid, 'SIGUSR2');
      await sleep(SETTLING_MS);
      if (existsSync(this.#heapFile)) sizes = readFileSync(this.#heapFile, 'latin1').trim().split('\n');
    }
    return Number(sizes.at(-1)) / MIB;
  }

  /** Stops the service. Returns a problem unless it exits with 0. */
  async stop(): Promise<string[]> {
    this.#stopping = true;
    clearInterval(this.#timer);
    const limit = setTimeout(() => void this.#program.stop('SIGKILL'), STOP_LIMIT_MS);
    const { exitCode } = await this.#program.stop();
    clearTimeout(limit);
    this.#look();
    return exitCode === 0 ? [] : [`The service ended: ${this.#lastWords(exitCode)}`];
  }

  /** Checks the output since the last look. */
  #look(): void {
    const lines = this.#program.takeLines();
    this.#lastLines = [...this.#lastLines, ...lines].slice(-LAST_LINES);
    const [problem] = lines.flatMap(problemOf);
    if (problem !== undefined) this.#onAlarm(problem);
    const { stderr } = this.#program;
    if (stderr.length > this.#errorsRead) this.#onAlarm(`The service wrote to stderr: ${stderr}`);
    this.#errorsRead = stderr.length;
  }

  #lastWords(exitCode: number | null): string {
    return JSON.stringify({ exitCode, log: this.#lastLines, stderr: this.#program.stderr });
  }
}

/** The problem that a log line reports, or that the line cannot be parsed; empty for none. */
function problemOf(line: string): string[] {
  try {
    const { level } = JSON.parse(line) as { level: string };
    return ALARMING.includes(level) ? [`The service logged: ${line}`] : [];
  } catch {
    return [`A log line cannot be parsed: ${line}`];
  }
}
