import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { runCommand } from '../../src/command.js';

/** The command, running in this process. */
interface RunningCommand {
  /** The lines that it has written to stdout. */
  readonly lines: readonly string[];
  /** The lines that it has written to stderr. */
  readonly complaints: readonly string[];
  readonly code: Promise<number>;
}

/** Starts the command on any port. It stops when the test ends. */
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

/** Runs the command without a signal, as its process does, until it exits. */
export async function runToEnd(...args: readonly string[]) {
  let printed = '';
  let complaint = '';
  const code = await runCommand(args, {
    stdout: { write: (text) => (printed += text) },
    stderr: { write: (text) => (complaint += text) },
  });
  return { code, printed, complaint };
}

/** Writes a file that is deleted when the test ends. Returns its path. */
export function fileWith(content: string | Uint8Array): string {
  const folder = mkdtempSync(join(tmpdir(), 'command-'));
  onTestFinished(() => {
    rmSync(folder, { recursive: true });
  });
  writeFileSync(join(folder, 'file'), content);
  return join(folder, 'file');
}

/** Waits until the command serves. Returns its origin. */
export async function originOf({ lines }: RunningCommand): Promise<string> {
  await eventually(() => lines.at(-1)).toContain(' is served at ');
  return String(/http:\S+(?=,)/.exec(String(lines.at(-1)))?.[0]);
}

/** Polls a value, with a timeout that allows for other tests at the same time. */
export const eventually = <T>(value: () => T) => expect.poll(value, { timeout: 20_000 });
