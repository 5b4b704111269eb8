import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { LoadResult } from './load/load.js';

/** A breakdown of the CPU time of one kind of request. */
export interface Anatomy {
  readonly name: string;
  /** Microseconds of CPU time for each request, by the part that spends them, the largest first. */
  readonly parts: readonly (readonly [part: string, microseconds: number])[];
}

/** The part of V8's CPU profile that is used; times in microseconds. */
interface CpuProfile {
  readonly startTime: number;
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

interface ProfileNode {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string };
  readonly children?: readonly number[];
}

const DIST = resolve('dist');
const IDLE = '(idle)';
/** The profiler's names for time that no function spends. */
const NAMED: Readonly<Record<string, string>> = {
  '(garbage collector)': 'garbage collection',
  '(program)': 'native code, system calls',
};

/** Options for Node that make it leave a profile in the folder when it ends. */
export function profilingTo(folder: string): string[] {
  return ['--cpu-prof', '--cpu-prof-interval=250', `--cpu-prof-dir=${folder}`];
}

/** Reads the profile in the folder: only the time in which the load was measured. */
export async function readAnatomy(name: string, folder: string, load: LoadResult): Promise<Anatomy> {
  const [file] = await readdir(folder);
  if (file === undefined) throw new Error('The service left no profile.');
  const profile = JSON.parse(await readFile(join(folder, file), 'utf8')) as CpuProfile;
  const partOfNode = partsOf(profile.nodes);
  const spent = new Map<string, number>();
  const [from, to] = load.windowUs;
  let at = profile.startTime;
  for (const [i, id] of profile.samples.entries()) {
    const delta = profile.timeDeltas[i] ?? 0;
    at += delta;
    const part = partOfNode.get(id);
    if (at < from || at > to || part === undefined || part === IDLE) continue;
    spent.set(part, (spent.get(part) ?? 0) + delta);
  }
  // The profile's clock runs on while others have the processor, so it gives the shares and /proc the sum.
  const sampled = [...spent.values()].reduce((sum, each) => sum + each, 0);
  const cpuUs = load.serverCpuMs * 1_000;
  const parts = [...spent].map(([part, us]) => [part, (us / sampled) * cpuUs] as const);
  return { name, parts: parts.sort(([, a], [, b]) => b - a) };
}

/** The part to which each node of the call tree belongs; a node without a file belongs to that of its caller. */
function partsOf(nodes: readonly ProfileNode[]): Map<number, string> {
  const parts = new Map<number, string>();
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const visit = (node: ProfileNode, callers: string): void => {
    const part = partOf(node.callFrame) ?? callers;
    parts.set(node.id, part);
    for (const id of node.children ?? []) {
      const child = byId.get(id);
      if (child !== undefined) visit(child, part);
    }
  };
  const [root] = nodes;
  if (root !== undefined) visit(root, 'native code, system calls');
  return parts;
}

function partOf({ functionName, url }: ProfileNode['callFrame']): string | undefined {
  if (functionName === IDLE) return IDLE;
  const named = NAMED[functionName];
  if (named !== undefined || url === '') return named;
  const dependency = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1];
  if (dependency !== undefined) return dependency;
  const builtIn = /^node:(?:internal\/)?_?([a-z0-9_]+)/.exec(url)?.[1];
  if (builtIn !== undefined) return `node:${builtIn}`;
  const ownPackage = /\/(packages\/[^/]+)\/dist\//.exec(url)?.[1];
  if (ownPackage !== undefined) return ownPackage;
  const [room = '', file] = url.replace(`file://${DIST}/`, '').split('/');
  return file === undefined ? 'src' : `src/${room}`;
}
