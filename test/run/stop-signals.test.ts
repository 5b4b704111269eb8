import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { buildFolder } from '../support/build-folder.js';

/** Sends itself the signal, and again once it begins to stop; exits with 0 unless the repeat ends it first. */
const SIGNALLED_TWICE = `
  const { onStopSignals } = await import('${buildFolder()}/run/stop-signals.js');
  const [signal, repeatMs] = process.argv.slice(1);
  const again = () => {
    process.once(signal, () => process.exit(0));
    process.kill(process.pid, signal);
  };
  onStopSignals(again, (_, exitCode) => process.exit(exitCode), Number(repeatMs));
  setInterval(() => undefined, 60_000);
  process.kill(process.pid, signal);
`;

async function exitCodeAfter(signal: string, repeatMs: number): Promise<unknown> {
  const args = ['--input-type=module', '--eval', SIGNALLED_TWICE, signal, String(repeatMs)];
  const [exitCode] = (await once(spawn(process.execPath, args, { stdio: 'inherit' }), 'close')) as unknown[];
  return exitCode;
}

describe.each([
  ['SIGTERM', 143],
  ['SIGINT', 130],
  ['SIGHUP', 129],
])('%s', (signal, exitCode) => {
  it('stops a process gracefully, even when repeated soon', async () => {
    await expect(exitCodeAfter(signal, 60_000)).resolves.toBe(0);
  });

  it(`ends the process with exit code ${exitCode} when repeated later`, async () => {
    await expect(exitCodeAfter(signal, 0)).resolves.toBe(exitCode);
  });
});
