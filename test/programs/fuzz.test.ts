import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { built } from '../support/built.js';
import { type Ended, moduleUrl, Programs } from '../support/process.js';

const PATIENCE_MS = 120_000;
const SEED = ['--seed', '12'];
/** With this seed, enough cases that one has an unknown HTTP method, and few enough to run quickly. */
const SOME_CASES = ['--cases', '24', ...SEED];

/** Makes the service answer 500 to an unknown HTTP method. */
const ANSWERS_500 = `--import ${moduleUrl(String.raw`
  import { subscribe } from 'node:diagnostics_channel';
  subscribe('http.server.request.start', ({ request, socket }) => {
    if (['GET', 'HEAD', 'POST', 'OPTIONS'].includes(request.method)) return;
    socket.end('HTTP/1.1 500 Oops\r\ncontent-length: 4\r\n\r\noops');
  });
`)}`;

let programs: Programs;

beforeEach(() => {
  programs = new Programs();
});

afterEach(() => programs.end());

/** Runs the built fuzzer against a service that is started with these Node options. */
function fuzz(args: readonly string[], nodeOptions = ''): Promise<Ended> {
  built('fuzz');
  return programs.start('fuzz/fuzz/main', args, { FUZZ_NODE_OPTIONS: nodeOptions }).ended;
}

describe('the fuzzer', { timeout: PATIENCE_MS }, () => {
  it('finds no failure in the unmodified service', async () => {
    const { exitCode, stdout } = await fuzz(['--cases', '300', ...SEED]);
    expect(stdout).toMatch(/\nno failures\n$/);
    expect(exitCode).toBe(0);
  });

  it('fails when the service returns 500, and prints the command that repeats the case', async () => {
    const finding = /FAILED case \d+ .*\n {2}A failure is not of the agreed shape: 500 oops/;
    const { exitCode, stdout } = await fuzz(SOME_CASES, ANSWERS_500);
    expect(stdout).toMatch(finding);
    expect(exitCode).toBe(1);
    const [, replay = ''] = /replay: npm run fuzz -- (--seed 12 --only \d+)\n/.exec(stdout) ?? [];
    const again = await fuzz(replay.split(' '), ANSWERS_500);
    expect(again.stdout).toMatch(finding);
    expect(again.stdout).toContain('\n1 cases in ');
    expect(again.exitCode).toBe(1);
  });
});
