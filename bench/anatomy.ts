import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Rounds } from './rounds.js';
import type { Scenario } from './scenarios.js';
import type { Servers } from './servers.js';

/** A breakdown of the CPU time of one kind of request. */
export interface Anatomy {
  readonly name: string;
  /** CPU time per request by part, in microseconds, largest first. */
  readonly parts: readonly (readonly [part: string, microseconds: number])[];
}

/** The fields of V8's CPU profile that are used here; times are in microseconds. */
interface CpuProfile {
  readonly startTime: number;
  /** Each node follows its caller. */
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

interface ProfileNode {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string };
  readonly children?: readonly number[];
}

/** Warm-up after which a new process runs compiled code, in milliseconds. */
const COMPILE_MS = 1_000;
const SAMPLING = ['--cpu-prof', '--cpu-prof-interval=250'];
const DIST = resolve('dist');
const IDLE = '(idle)';
const NATIVE = 'native code, system calls';
/** Parts for the profiler's pseudo-functions, which stand for time outside of any JavaScript function. */
const NAMED: Readonly<Record<string, string>> = {
  [IDLE]: IDLE,
  '(garbage collector)': 'garbage collection',
  '(program)': NATIVE,
};

/** Runs a scenario against a new service process on this database, and breaks down the CPU time of the measurement. */
export async function profile(
  scenario: Scenario,
  databaseUrl: string,
  rounds: Rounds,
  servers: Servers,
): Promise<Anatomy> {
  const folder = await servers.folder();
  const options = [...SAMPLING, `--cpu-prof-dir=${folder}`];
  const { pids, stop, ...at } = await servers.service({ DATABASE_URL: databaseUrl }, [], options);
  const target = (scenario.wire === 'grpc' ? at.grpc : at.http) ?? '';
  const load = await rounds.measure(scenario, { target, serverPids: pids, warmUpMs: COMPILE_MS, from: 0 });
  await stop();
  const [file = ''] = await readdir(folder);
  const read = JSON.parse(await readFile(join(folder, file), 'utf8')) as CpuProfile;
  const spent = spentIn(read, load.windowUs);
  // The profiler samples wall-clock time, also while other processes run: it gives the shares, and /proc the total.
  const sampled = [...spent.values()].reduce((sum, each) => sum + each, 0);
  const cpuUs = (load.sample.serverCpuMs ?? 0) * 1_000;
  const parts = [...spent].map(([part, us]) => [part, (us / sampled) * cpuUs] as const);
  return { name: scenario.name, parts: parts.sort(([, a], [, b]) => b - a) };
}

/** The time that each part took within a window of the monotonic clock, in microseconds. */
function spentIn(
  { startTime, nodes, samples, timeDeltas }: CpuProfile,
  [from, to]: readonly [number, number],
): Map<string, number> {
  const parts = partsOf(nodes);
  const spent = new Map<string, number>();
  let at = startTime;
  for (const [i, id] of samples.entries()) {
    const delta = timeDeltas[i] ?? 0;
    at += delta;
    const part = parts.get(id) ?? NATIVE;
    if (at >= from && at <= to && part !== IDLE) spent.set(part, (spent.get(part) ?? 0) + delta);
  }
  return spent;
}

/** Maps each node of the call tree to its part; a node without a file counts as its caller's part. */
function partsOf(nodes: readonly ProfileNode[]): Map<number, string> {
  const parts = new Map<number, string>();
  for (const { id, callFrame, children = [] } of nodes) {
    const part = partOf(callFrame) ?? parts.get(id) ?? NATIVE;
    for (const each of [id, ...children]) parts.set(each, part);
  }
  return parts;
}

function partOf({ functionName, url }: ProfileNode['callFrame']): string | undefined {
  const named = NAMED[functionName];
  if (named !== undefined || url === '') return named;
  const dependency = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1];
  if (dependency !== undefined) return dependency;
  const builtIn = /^node:(?:internal\/)?_?([a-z0-9_]+)/.exec(url)?.[1];
  if (builtIn !== undefined) return `node:${builtIn}`;
  const ownPackage = /\/(packages\/[^/]+)\/dist\//.exec(url)?.[1];
  if (ownPackage !== undefined) return ownPackage;
  const [module = '', file] = url.replace(`file://${DIST}/`, '').split('/');
  return file === undefined ? 'src' : `src/${module}`;
}
