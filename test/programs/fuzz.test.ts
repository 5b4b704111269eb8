import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Ended, Programs } from '../support/process.js';

const PATIENCE_MS = 120_000;
const CASES = ['--cases', '300', '--seed', '7'];

/** Does something to each request over REST with a verb that the service does not know. */
function whenVerbIsUnknown(fault: string): string {
  const program = `
    import { Server } from 'node:http';
    const emit = Server.prototype.emit;
    Server.prototype.emit = function (name, request, response) {
      if (name !== 'request' || ['GET', 'HEAD', 'POST', 'OPTIONS'].includes(request.method))
        return emit.apply(this, arguments);
      ${fault};
      return true;
    };`;
  return `--import data:text/javascript,${encodeURIComponent(program)}`;
}

/** Changes all routes in the embedded database, as no statement of the service does. */
const CHANGES_ROUTE = `
  const { createRequire } = process.getBuiltinModule('node:module');
  const Database = createRequire(process.argv[1])('better-sqlite3');
  const database = new Database(process.env.DATABASE_URL.slice('sqlite:'.length));
  database.prepare("UPDATE routes SET handler = 'planted'").run();
  database.close();
  response.writeHead(405, { 'content-length': 0 }).end()`;

const ANSWERS_500 = whenVerbIsUnknown("response.writeHead(500, { 'content-length': 4 }).end('oops')");

let programs: Programs;

beforeEach(() => {
  programs = new Programs();
});

afterEach(() => programs.end());

/** Runs the fuzzer, as built, against a service that is started with these options for Node. */
function fuzz(args: readonly string[], nodeOptions = ''): Promise<Ended> {
  return programs.start('fuzz/fuzz/main', args, { FUZZ_NODE_OPTIONS: nodeOptions }).ended;
}

describe('the fuzzer', { timeout: PATIENCE_MS }, () => {
  it('finds nothing in the service as it is', async () => {
    const { exitCode, stdout } = await fuzz(CASES);
    expect(stdout).toMatch(/\nno failures\n$/);
    expect(exitCode).toBe(0);
  });

  it.each([
    ['answers 500', ANSWERS_500, /FAILED case \d+ .*\n {2}A failure is not of the agreed shape: 500 oops/],
    ['ends', whenVerbIsUnknown('process.exit(7)'), /The service ended: \{"exitCode":7/],
    [
      'leaves a rejection unhandled',
      whenVerbIsUnknown("void Promise.reject(new Error('planted'))"),
      /The service logged: \{"level":"fatal",.*planted/,
    ],
    [
      'writes to stderr',
      whenVerbIsUnknown("console.error('planted')"),
      /The service wrote to stderr: planted/,
    ],
  ])('fails, and says how to repeat it, when the service %s', async (_, nodeOptions, finding) => {
    const { exitCode, stdout } = await fuzz(CASES, nodeOptions);
    expect(stdout).toMatch(finding);
    expect(stdout).toMatch(/\n {2}replay: npm run fuzz -- --seed 7 --only \d/);
    expect(exitCode).toBe(1);
  });

  it('fails when the service changes a stored route', async () => {
    const { exitCode, stdout } = await fuzz(CASES, whenVerbIsUnknown(CHANGES_ROUTE));
    expect(stdout).toMatch(
      /FAILED in the end\n {2}The acknowledged route .* is not stored as acknowledged\./,
    );
    expect(exitCode).toBe(1);
  });

  it('fails when there is no time for all cases', async () => {
    const { exitCode, stdout } = await fuzz(['--cases', '100000', '--seconds', '1', '--seed', '7']);
    expect(stdout).toMatch(/FAILED in the end\n {2}\d+ of 100000 cases in \d+ s\./);
    expect(exitCode).toBe(1);
  });

  it('repeats a single case of a seed', async () => {
    const { stdout } = await fuzz(CASES, ANSWERS_500);
    const [, replay = ''] = /replay: npm run fuzz -- (--seed 7 --only \d+)\n/.exec(stdout) ?? [];
    const again = await fuzz(replay.split(' '), ANSWERS_500);
    expect(again.stdout).toContain('500 oops');
    expect(again.stdout).toContain('\n1 cases in ');
    expect(again.exitCode).toBe(1);
  });
});
