import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { LEASH } from '../test/support/process.js';

/** A program in a child process, which exits at the latest when this process does. It inherits stderr. */
export class Child {
  readonly #process: ChildProcess;
  readonly #ended: Promise<unknown>;

  /**
   * @param args Node's arguments: options, the program's file and its arguments; with `program`, the arguments of that
   * @param settings environment variables; from this process's environment, the child gets only `PATH`
   * @param cwd working directory
   * @param program an executable to run instead of Node, which must exit when its stdin closes
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

  /** @throws Error when the process could not be started */
  get pid(): number {
    if (this.#process.pid === undefined) throw new Error('The process did not start.');
    return this.#process.pid;
  }

  /**
   * Waits for the first log line with this message. Later lines are read and dropped.
   *
   * @throws Error when the program ends first
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

  /** Sends SIGTERM and waits until the process has exited. */
  async stop(): Promise<void> {
    this.#process.kill('SIGTERM');
    await this.#ended;
  }
}
