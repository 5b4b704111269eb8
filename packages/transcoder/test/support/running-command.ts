import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { runCommand } from '../../src/command/command.js';

/** The command, running in this process. */
interface RunningCommand {
  /** The lines that it has written to stdout, but those about requests. */
  readonly lines: readonly string[];
  /** The lines about requests, without their ids and times. */
  readonly requests: readonly string[];
  /** The lines that it has written to stderr. */
  readonly complaints: readonly string[];
  readonly code: Promise<number>;
  /** Stops it, as the end of the test does. */
  stop(): void;
}

/** The line about a request, which ends with its time, if it was one of HTTP, and with its id. */
const REQUEST = /^(.+?)(?: \d+ ms)? [\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/** Starts the command, on any port unless `--port` says which. It stops when the test ends. */
export function startCommand(...args: readonly string[]): RunningCommand {
  return startedWith(runCommand, args);
}

/** The same with another `runCommand`. */
export function startedWith(run: typeof runCommand, args: readonly string[]): RunningCommand {
  const lines: string[] = [];
  const requests: string[] = [];
  const complaints: string[] = [];
  const ending = new AbortController();
  const keep = (line: string): void => {
    const [, request] = REQUEST.exec(line) ?? [];
    (request === undefined ? lines : requests).push(request ?? line);
  };
  const writingTo = (take: (line: string) => unknown) => ({
    write: (text: string) => {
      for (const line of text.trimEnd().split('\n')) take(line);
    },
  });
  const code = run(args.includes('--port') ? args : ['--port', '0', ...args], {
    stdout: writingTo(keep),
    stderr: writingTo((line) => complaints.push(line)),
    signal: ending.signal,
  });
  const stop = (): void => {
    ending.abort();
  };
  onTestFinished(async () => {
    stop();
    await code;
  });
  return { lines, requests, complaints, code, stop };
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
