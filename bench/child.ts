import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { LEASH } from '../test/support/process.js';

/** A program in a child process, which ends with this one at the latest. Its stderr is that of this process. */
export class Child {
  readonly #process: ChildProcess;
  readonly #ended: Promise<unknown>;

  /**
   * @param args the program's file and its arguments, after options for Node, if any; of another program, its arguments
   * @param settings its environment beside `PATH`; it gets nothing else of this process's
   * @param cwd the folder in which it runs
   * @param program another program than Node, which has to end when its stdin does
   */
  constructor(
    args: readonly string[],
    settings: Readonly<Record<string, string>> = {},
    cwd = '.',
    program?: string,
  ) {
    const env = { PATH: process.env['PATH'], NODE_ENV: 'production', ...settings };
    const stdio = ['pipe', 'pipe', 'inherit'] as const;
    const leashed = program === undefined ? ['--import', LEASH, ...args] : [...args];
    this.#process = spawn(program ?? process.execPath, leashed, { env, cwd, stdio: [...stdio] });
    this.#ended = once(this.#process, 'exit');
  }

  /** @throws Error when it could not be started */
  get pid(): number {
    if (this.#process.pid === undefined) throw new Error('The process did not start.');
    return this.#process.pid;
  }

  /**
   * The first log line with this message; all later ones are read and dropped.
   *
   * @throws Error when the program ends before
   */
  async message(name: string): Promise<unknown> {
    const { stdout } = this.#process;
    if (stdout === null) throw new Error('A piped process has no output.');
    try {
      for await (const text of createInterface(stdout)) {
        const line = JSON.parse(text) as { readonly msg: string };
        if (line.msg === name) return line;
      }
    } finally {
      stdout.resume();
    }
    throw new Error(`A program ended before it was ${name}.`);
  }

  /** Lets it end in order and resolves when it has. */
  async stop(): Promise<void> {
    this.#process.kill('SIGTERM');
    await this.#ended;
  }
}
