import { expect, onTestFinished } from 'vitest';
import { runCommand } from '../../src/command.js';

/** The command, running in this process. */
interface RunningCommand {
  /** What it has printed. */
  readonly lines: readonly string[];
  /** What it has complained about. */
  readonly complaints: readonly string[];
  readonly code: Promise<number>;
}

/** Starts the command on any port, until the end of the test. */
export function startCommand(...args: readonly string[]): RunningCommand {
  const lines: string[] = [];
  const complaints: string[] = [];
  const ending = new AbortController();
  const writingTo = (kept: string[]) => ({
    write: (text: string) => kept.push(...text.trimEnd().split('\n')),
  });
  const code = runCommand(['--port', '0', ...args], {
    stdout: writingTo(lines),
    stderr: writingTo(complaints),
    signal: ending.signal,
  });
  onTestFinished(async () => {
    ending.abort();
    await code;
  });
  return { lines, complaints, code };
}

/** Where the command serves, once it does. */
export async function originOf({ lines }: RunningCommand): Promise<string> {
  await eventually(() => lines.at(-1)).toContain(' is served at ');
  return String(/http:\S+(?=,)/.exec(String(lines.at(-1)))?.[0]);
}

/** What becomes of a value, while other tests run at the same time. */
export const eventually = <T>(value: () => T) => expect.poll(value, { timeout: 20_000 });
