import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, onTestFinished } from 'vitest';

/** Where and how to start a server. */
interface Start {
  readonly cwd: string;
  /** Added to the environment of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** What it listens at, as `connect` of `node:net` takes it. */
  readonly at: { readonly host: string; readonly port: number } | { readonly path: string };
}

/** A server in a process of its own. */
export interface StartedProgram {
  stop(): Promise<void>;
}

/** Starts a server, waits until it listens, and stops it when the test ends. */
export async function startProgram(
  path: string,
  args: readonly string[],
  { cwd, env, at }: Start,
): Promise<StartedProgram> {
  const child = spawn(path, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // It may start programs of its own.
    detached: true,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data: Buffer) => (output += data.toString()));
  const closed = once(child, 'close');
  const ended = (): boolean => child.exitCode !== null || child.signalCode !== null;
  const stop = async (): Promise<void> => {
    if (!ended()) process.kill(-Number(child.pid), 'SIGKILL');
    await closed;
  };
  onTestFinished(stop);
  await expect
    .poll(async () => {
      if (ended()) return `It ended: ${output}`;
      const socket = connect(at);
      const [outcome] = await Promise.race([
        once(socket, 'connect').then(() => ['it listens']),
        once(socket, 'error').then(() => [output]),
      ]).catch(() => [output]);
      socket.destroy();
      return outcome;
    })
    .toBe('it listens');
  return { stop };
}
