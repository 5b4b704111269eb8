import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface, type Interface } from 'node:readline';
import { LEASH } from '../test/support/process.js';

const STDERR_KEPT = 4_000;

/** A Node program in a child process, which ends with this one at the latest. */
export class Child {
  readonly #process: ChildProcess;
  readonly #lines: Interface;
  readonly #ended: Promise<unknown>;
  #stderr = '';

  /**
   * @param args the program's file and its arguments, after options for Node, if any
   * @param settings its environment beside `PATH`; it gets nothing else of this process's
   * @param cwd the folder in which it runs
   */
  constructor(args: readonly string[], settings: Readonly<Record<string, string>> = {}, cwd = '.') {
    const env = { PATH: process.env['PATH'], NODE_ENV: 'production', ...settings };
    this.#process = spawn(process.execPath, ['--import', LEASH, ...args], { env, cwd, stdio: 'pipe' });
    this.#ended = once(this.#process, 'exit');
    this.#process.stderr?.on('data', (data: Buffer) => {
      this.#stderr = (this.#stderr + data.toString()).slice(-STDERR_KEPT);
    });
    const { stdout } = this.#process;
    if (stdout === null) throw new Error('A piped process has no output.');
    this.#lines = createInterface(stdout);
  }

  /** @throws Error when it could not be started */
  get pid(): number {
    if (this.#process.pid === undefined) throw new Error('The process did not start.');
    return this.#process.pid;
  }

  /**
   * The first log line with this message; all later ones are read and dropped.
   *
   * @throws Error with its last words when the program ends before
   */
  message(name: string): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#lines.on('line', (text) => {
        const line = JSON.parse(text) as { readonly msg: string };
        if (line.msg !== name) return;
        this.#lines.close();
        this.#process.stdout?.resume();
        resolve(line);
      });
      this.#process.once('exit', () => {
        reject(new Error(`A program ended before it was ${name}: ${this.#stderr.trim()}`));
      });
    });
  }

  /** Lets it end in order and resolves when it has. */
  async stop(): Promise<void> {
    this.#process.kill('SIGTERM');
    await this.#ended;
  }
}
