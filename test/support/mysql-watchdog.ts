import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('mysql-watchdog.mjs', import.meta.url));
const OUTPUT_KEPT = 4_000;

/** A program with its arguments, run without a shell. */
export type Command = readonly [program: string, ...args: string[]];

/** The commands of a watchdog, and its cleanup. */
export interface Watch {
  /** Commands to run one after another. The last one may run until `stop`. */
  readonly commands: readonly Command[];
  /** Commands to run at the end, whatever the reason: a failed command, `stop`, or the end of this process. */
  readonly afterwards: readonly Command[];
}

/** A running watchdog. */
export interface Watchdog {
  /** Resolves after a failed command or `stop`, with the last 4,000 characters of the output. */
  readonly ended: Promise<string>;
  /** Kills the running command and cleans up; resolves when that is done. */
  stop(): Promise<void>;
}

/**
 * Runs commands under a separate process, which kills them and cleans up when this process ends. It is not in the
 * terminal's process group: Ctrl-C ends only this process, and the watchdog then cleans up.
 */
export function watch({ commands, afterwards }: Watch): Watchdog {
  const child = spawn(process.execPath, [PROGRAM, JSON.stringify({ commands, afterwards })], {
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
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
