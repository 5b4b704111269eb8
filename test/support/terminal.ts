import {
  type ChildProcessWithoutNullStreams,
  spawn,
  type SpawnOptionsWithoutStdio,
} from 'node:child_process';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';
import { LEASH } from './process.js';

type Variables = Readonly<Record<string, string | undefined>>;

/** A shell into which a test pastes commands one after the other, as a reader of the documentation does. */
export class Terminal {
  readonly #shell: ChildProcessWithoutNullStreams;
  readonly #ended: Promise<boolean>;
  #pasted = 0;
  #stdout = '';
  #stderr = '';

  /** The shell is killed when the test ends. @param user the ID of its user; default: the user of this process */
  constructor(cwd: string, env: Variables, user?: number) {
    this.#shell = spawn('sh', { cwd, env: { ...env }, stdio: 'pipe', ...idsOf(user) });
    this.#shell.stdout.on('data', (data: Buffer) => (this.#stdout += data.toString()));
    this.#shell.stderr.on('data', (data: Buffer) => (this.#stderr += data.toString()));
    this.#ended = once(this.#shell, 'close').then(() => true);
    onTestFinished(() => void this.#shell.kill('SIGKILL'));
  }

  /**
   * Runs commands in this shell, which keeps their variables, and returns what they print to stdout.
   *
   * @throws Error if the last command fails or the shell ends
   */
  async paste(commands: string): Promise<string> {
    const end = `the end of ${++this.#pasted}: `;
    this.#stdout = this.#stderr = '';
    // Without a separate stdin, a command would read the commands after it.
    this.#shell.stdin.write(`{\n${commands}\n} </dev/null\necho "${end}$?"\n`);
    while (!/\d\n$/.test(this.#stdout.split(end)[1] ?? '')) {
      const more = once(this.#shell.stdout, 'data').then(() => false);
      if (await Promise.race([more, this.#ended])) throw new Error(`The shell has ended: ${this.#stderr}`);
    }
    const [printed = '', status] = this.#stdout.split(end);
    if (status !== '0\n') throw new Error(`${commands} failed: ${this.#stderr}${printed}`);
    return printed;
  }
}

/** The spawn options that run a process as this user. */
function idsOf(user: number | undefined): SpawnOptionsWithoutStdio {
  return user === undefined ? {} : { uid: user, gid: user };
}

/**
 * Runs commands in a separate terminal, where the last one starts the service, and waits until the service listens.
 *
 * @param user as in `Terminal`
 * @returns a function that presses Ctrl-C and waits for the end; also called when the test ends
 * @throws Error if the commands end before the service listens
 */
export async function startInTerminal(
  cwd: string,
  env: Variables,
  commands: string,
  user?: number,
): Promise<() => Promise<void>> {
  const shell = spawn('sh', ['-euc', commands], {
    cwd,
    env: { ...env, NODE_OPTIONS: `--import ${LEASH}` },
    // A new process group: Ctrl-C in a terminal signals all its processes.
    detached: true,
    stdio: 'pipe',
    ...idsOf(user),
  });
  let printed = '';
  for (const output of [shell.stdout, shell.stderr])
    output.on('data', (data: Buffer) => (printed += data.toString()));
  const ended = once(shell, 'close').then(() => true);
  const stop = async (): Promise<void> => {
    if (shell.exitCode === null && shell.signalCode === null) process.kill(-Number(shell.pid), 'SIGINT');
    await ended;
  };
  onTestFinished(stop);
  while (!printed.includes('"msg":"listening"')) {
    const more = once(shell.stdout, 'data').then(() => false);
    if (await Promise.race([more, ended])) throw new Error(`${commands} failed: ${printed}`);
  }
  return stop;
}
