import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { rssMib } from '../../bench/process-usage.js';
import { Program } from '../../test/support/process.js';
import { SERVICE_SETTINGS } from '../../test/support/service.js';

/** The program as `npm run build` makes it; this file is built into `dist/fuzz/fuzz/service/`. */
const MAIN = resolve(import.meta.dirname, '../../../main');
const LOOK_MS = 100;
/** How many looks lie between two measurements of memory. */
const LOOKS_PER_MEASUREMENT = 5;
/** How many looks lie between two collections of garbage, after which the heap is measured. */
const LOOKS_PER_COLLECTION = 50;
/** The file to which the service writes its heap without garbage, a line of bytes for each signal. */
const HEAP_FILE = 'heap';
const MIB = 2 ** 20;
/** Collects garbage in the service and measures its heap, on SIGUSR2. */
const COLLECTING = `data:text/javascript,${encodeURIComponent(`
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
`)}`;
/** Levels of the log that mean a defect. */
const ALARMING = ['error', 'fatal'];
/** The lines of the log that are shown when the service has ended. */
const LAST_LINES = 10;
/** The service stops long before this, in milliseconds. */
const STOP_LIMIT_MS = 60_000;

/** The service in a separate process, under observation. */
export class WatchedService {
  readonly #program: Program;
  readonly #heapFile: string;
  readonly #onAlarm: (problem: string) => void;
  readonly #timer: NodeJS.Timeout;
  readonly #memoryMib: number[] = [];
  #lastLines: string[] = [];
  #errorsRead = 0;
  #looks = 0;
  #stopping = false;

  /** `host:port` of each protocol. */
  grpc = '';
  http = '';

  /** @param onAlarm is told of an alarming or unreadable line of the log, of text on stderr, and of a sudden end */
  private constructor(program: Program, folder: string, onAlarm: (problem: string) => void) {
    this.#program = program;
    this.#heapFile = join(folder, HEAP_FILE);
    this.#onAlarm = onAlarm;
    this.#timer = setInterval(() => {
      this.#measure();
      this.#look();
    }, LOOK_MS);
    void program.ended.then(({ exitCode }) => {
      clearInterval(this.#timer);
      if (this.#stopping) return;
      this.#look();
      onAlarm(`The service ended: ${this.#lastWords(exitCode)}`);
    });
  }

  /** Starts it and waits until it listens. @param folder where it runs */
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

  /** Resident memory so far, twice a second, in MiB. */
  get memoryMib(): readonly number[] {
    return this.#memoryMib;
  }

  /** The heap so far with what belongs to it, each time after a collection of garbage, every five seconds, in MiB. */
  get heapMib(): readonly number[] {
    if (!existsSync(this.#heapFile)) return [];
    return readFileSync(this.#heapFile, 'latin1')
      .trim()
      .split('\n')
      .map((bytes) => Number(bytes) / MIB);
  }

  /** Ends it in order. Returns what was wrong with that. */
  async stop(): Promise<string[]> {
    this.#stopping = true;
    clearInterval(this.#timer);
    const limit = setTimeout(() => void this.#program.stop('SIGKILL'), STOP_LIMIT_MS);
    const { exitCode } = await this.#program.stop();
    clearTimeout(limit);
    this.#look();
    return exitCode === 0 ? [] : [`The service did not stop in order: ${this.#lastWords(exitCode)}`];
  }

  /** Reads what it has written since the last look. */
  #look(): void {
    const lines = this.#program.takeLines();
    this.#lastLines = [...this.#lastLines, ...lines].slice(-LAST_LINES);
    const [problem] = lines.flatMap(problemOf);
    if (problem !== undefined) this.#onAlarm(problem);
    const { stderr } = this.#program;
    if (stderr.length > this.#errorsRead) this.#onAlarm(`The service wrote to stderr: ${stderr}`);
    this.#errorsRead = stderr.length;
  }

  #measure(): void {
    if (this.#looks % LOOKS_PER_MEASUREMENT === 0) this.#memoryMib.push(rssMib(this.#program.pid));
    if (this.#looks % LOOKS_PER_COLLECTION === 0) process.kill(this.#program.pid, 'SIGUSR2');
    this.#looks++;
  }

  #lastWords(exitCode: number | null): string {
    return JSON.stringify({ exitCode, log: this.#lastLines, stderr: this.#program.stderr });
  }
}

/** The problem that a line of the log reports, or that it is itself; empty for none. */
function problemOf(line: string): string[] {
  try {
    const { level } = JSON.parse(line) as { level: string };
    return ALARMING.includes(level) ? [`The service logged: ${line}`] : [];
  } catch {
    return [`A line of the log cannot be read: ${line}`];
  }
}
