import cluster from 'node:cluster';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { WorkerProcesses, type WorkersOptions } from '../../src/run/worker-processes.js';

/** A worker that serves; each report is how often it was asked. */
const SERVES = `
  let asked = 0;
  const on = { stop: () => process.exit(0), report: () => process.send({ kind: 'report', report: ++asked }) };
  process.on('message', ({ kind }) => on[kind]());
  process.send({ kind: 'listening', addresses: { grpcAddress: 'g', httpUrl: 'h' } });
`;
/** A worker that cannot start. */
const FAILS = `process.send({ kind: 'failed', problem: 'No port.' }, () => process.exit(1));`;

type Line = Readonly<Record<string, unknown>>;

interface Started {
  readonly workers: WorkerProcesses<number>;
  readonly lines: Line[];
  /** The numbers of the processes that were started. */
  readonly forked: () => number;
}

/** Workers that run the second script, the first of them the first one, with short times. */
function create(first: string, second: string, options: Partial<WorkersOptions> = {}): Started {
  const script = `if (process.env.WORKER_NUMBER === '1') { ${first} } else { ${second} }`;
  cluster.setupPrimary({ execArgv: ['--eval', script] });
  const lines: Line[] = [];
  const sink = new Writable({
    write(line: Buffer, _encoding, done) {
      lines.push(JSON.parse(line.toString()) as Line);
      done();
    },
  });
  let forked = 0;
  const count = (): number => ++forked;
  cluster.on('fork', count);
  const workers = new WorkerProcesses<number>({
    count: 2,
    drainMs: 0,
    logger: pino(sink),
    pauseMs: 1,
    ...options,
  });
  onTestFinished(async () => {
    cluster.off('fork', count);
    await workers.close().catch(() => undefined);
  });
  return { workers, lines, forked: () => forked };
}

function endsIn(lines: readonly Line[]): Line[] {
  return lines.filter(({ msg }) => msg === 'a worker has ended unexpectedly');
}

it('a worker that ends again and again is replaced after a pause, while the other one goes on', async () => {
  const pauseMs = 500;
  const { workers, lines } = create(SERVES, FAILS, { pauseMs });
  await expect(workers.start()).resolves.toEqual({ grpcAddress: 'g', httpUrl: 'h' });
  await expect.poll(() => endsIn(lines).length).toBeGreaterThan(2);
  const [first, second, third] = endsIn(lines);
  expect(first).toMatchObject({ worker: 2, exitCode: 1, signal: null, problem: 'No port.' });
  for (const [before, after] of [
    [first, second],
    [second, third],
  ])
    expect(Number(after?.['time']) - Number(before?.['time'])).toBeGreaterThanOrEqual(pauseMs);
  await expect(workers.reports()).resolves.toEqual(new Map([[1, 1]]));
  expect(lines.filter(({ msg }) => msg === 'a worker serves')).toMatchObject([{ worker: 1 }]);
});

it('a worker that gives no report in time has none; others are asked once for all who want to know', async () => {
  const { workers } = create(SERVES, SERVES.replace('process.send({ kind', '({ kind'));
  await workers.start();
  const answers = await Promise.all([workers.reports(), workers.reports()]);
  const expected = new Map([
    [1, 1],
    [2, undefined],
  ]);
  expect(answers).toEqual([expected, expected]);
  expect((await workers.reports()).get(1)).toBe(2);
});

it('a worker that does not stop in time is killed, and no other takes its place or that of one that did', async () => {
  const { workers, lines, forked } = create(SERVES, SERVES.replace('process.exit(0)', 'undefined'), {
    limitMs: 1_000,
  });
  await workers.start();
  await expect(workers.close()).resolves.toBe(false);
  expect(lines.at(-1)).toMatchObject({
    worker: 2,
    level: 40,
    msg: 'a worker did not stop in time, and was killed',
  });
  expect(endsIn(lines)).toEqual([]);
  expect(forked()).toBe(2);
});

it('a worker that fails to close something fails the whole', async () => {
  const { workers } = create(SERVES, SERVES.replace('exit(0)', 'exit(1)'));
  await workers.start();
  await expect(workers.close()).rejects.toThrow('1 of 2 workers failed to close.');
});

it('workers that are told to stop while the first one starts are no more than that one', async () => {
  const { workers, forked } = create(SERVES, SERVES);
  const started = workers.start();
  await expect(workers.close()).resolves.toBe(true);
  await Promise.allSettled([started]);
  expect(forked()).toBe(1);
});

it('workers of which the first one cannot start fail with its reason', async () => {
  const { workers, lines, forked } = create(FAILS, SERVES);
  await expect(workers.start()).rejects.toThrow('No port.');
  expect(lines).toEqual([]);
  expect(forked()).toBe(1);
});

it('workers that cannot even be forked fail with the reason of the operating system', async () => {
  const { workers } = create(SERVES, SERVES);
  const { cwd = process.cwd() } = cluster.settings;
  cluster.setupPrimary({ cwd: '/nowhere' });
  onTestFinished(() => {
    cluster.setupPrimary({ cwd });
  });
  await expect(workers.start()).rejects.toThrow('ENOENT');
});
