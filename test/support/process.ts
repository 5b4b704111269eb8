import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { buildFolder } from './build-folder.js';

/** A module that exits the program when its parent process has ended, for whatever reason. */
export const LEASH = "data:text/javascript,process.stdin.on('close',()=>process.exit(1)).resume().unref()";

/** The URL of a module with this source text, for Node's option `--import`. */
export function moduleUrl(text: string): string {
  return `data:text/javascript,${encodeURIComponent(text)}`;
}

/** The result of a program. */
export interface Ended {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A built program of the service in a separate process. */
export class Program {
  readonly #child: ChildProcess;
  readonly #ended: Promise<Ended>;
  #stdout = '';
  #stderr = '';

  /**
   * @param name `main`, `migrate`, `token`, or an absolute path without `.js`
   * @param settings its environment, besides PATH: it inherits nothing else from this process
   * @param group whether it runs in its own process group, as a terminal starts it; default: false
   */
  constructor(
    name: string,
    args: readonly string[],
    cwd: string,
    settings: Readonly<Record<string, string>>,
    group = false,
  ) {
    const env = { PATH: process.env['PATH'], ...settings };
    const path = isAbsolute(name) ? name : join(buildFolder(), name);
    this.#child = spawn(process.execPath, ['--import', LEASH, `${path}.js`, ...args], {
      cwd,
      env,
      stdio: 'pipe',
      detached: group,
    });
    this.#child.stdout?.on('data', (data: Buffer) => (this.#stdout += data.toString()));
    this.#child.stderr?.on('data', (data: Buffer) => (this.#stderr += data.toString()));
    this.#ended = once(this.#child, 'close').then(([exitCode]: (number | null)[]) => ({
      exitCode: exitCode ?? null,
      stdout: this.#stdout,
      stderr: this.#stderr,
    }));
  }

  /** @throws Error if the program could not be started */
  get pid(): number {
    if (this.#child.pid === undefined) throw new Error('The program did not start.');
    return this.#child.pid;
  }

  get stdout(): string {
    return this.#stdout;
  }

  get stderr(): string {
    return this.#stderr;
  }

  /** Resolves when the program has ended, and all its child processes that share its output. */
  get ended(): Promise<Ended> {
    return this.#ended;
  }

  /** Waits for the log line with this message. @throws Error if the program ends first */
  async line(message: string): Promise<Record<string, unknown>> {
    for (;;) {
      const found = this.lines().find(({ msg }) => msg === message);
      if (found !== undefined) return found;
      const more = once(this.#child.stdout ?? this.#child, 'data').then(() => true);
      if (!(await Promise.race([more, this.#ended.then(() => false)]))) {
        throw new Error(`It ended before it logged "${message}": ${this.#stderr}${this.#stdout}`);
      }
    }
  }

  /** The complete log lines so far, parsed. */
  lines(): Record<string, unknown>[] {
    const complete = this.#stdout.split('\n').slice(0, -1);
    return complete.map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  /** Sends the signal and resolves when the program has ended. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Ended> {
    this.#child.kill(signal);
    return this.#ended;
  }
}

/** Programs that run in a common temporary folder. */
export class Programs {
  readonly folder = mkdtempSync(join(tmpdir(), 'route-registry-'));
  readonly #started: Program[] = [];

  /** Starts a program. @param name,args,settings,group as in `Program` */
  start(
    name: string,
    args: readonly string[],
    settings: Readonly<Record<string, string>>,
    group = false,
  ): Program {
    const program = new Program(name, args, this.folder, settings, group);
    this.#started.push(program);
    return program;
  }

  /** Kills the programs that still run. */
  async kill(): Promise<void> {
    await Promise.all(this.#started.map((program) => program.stop('SIGKILL')));
  }

  /** Kills the programs that still run, and removes the folder. */
  async end(): Promise<void> {
    await this.kill();
    rmSync(this.folder, { recursive: true });
  }
}
