import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('mysql-watchdog.mjs', import.meta.url));
const OUTPUT_KEPT = 4_000;

/** A program with its arguments, run without a shell. */
export type Command = readonly [program: string, ...args: string[]];

/** The commands of a watchdog and its clean-up. */
export interface Watch {
  /** Run one after another; the last one may run until it is stopped. */
  readonly commands: readonly Command[];
  /** Run at the end, whatever the reason: a failed command, `stop`, or the death of this process. */
  readonly afterwards: readonly Command[];
  /** Added to the environment of the commands; default: nothing. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A running watchdog. */
export interface Watchdog {
  /** Resolves when a command has failed or `stop` was called, with the last 4,000 characters of their output. */
  readonly ended: Promise<string>;
  /** Kills the running command and cleans up; resolves when that is done. */
  stop(): Promise<void>;
}

/**
 * Runs commands under a process that outlives this one just long enough to kill them and clean up after them. It is not
 * in the terminal's process group, so Ctrl-C reaches it only as the end of this process.
 */
export function watch({ commands, afterwards, env = {} }: Watch): Watchdog {
  const child = spawn(process.execPath, [PROGRAM, JSON.stringify({ commands, afterwards })], {
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  let output = '';
  const keep = (chunk: string) => {
    output = (output + chunk).slice(-OUTPUT_KEPT);
  };
  child.stdout.setEncoding('utf8').on('data', keep);
  child.stderr.setEncoding('utf8').on('data', keep);
  const ended = new Promise<string>((resolve, reject) => {
    child.once('error', reject).once('close', () => {
      resolve(output);
    });
  });
  return {
    ended,
    async stop() {
      child.stdin.end();
      await ended;
    },
  };
}
