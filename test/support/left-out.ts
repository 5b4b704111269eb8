import type { ProvidedContext } from 'vitest';
import type { Reporter, TestModule, TestProject } from 'vitest/node';
import type { Need } from './need.js';
import { timesOfThisProcess } from './times.js';

/**
 * Ends a run with its wall and CPU time, and with a line that says which engines it was on, how many tests were left out
 * because something is missing here, and how to have it.
 */
export default class LeftOut implements Reporter {
  #line = '';

  constructor() {
    // After whatever others print in the end, and when the workers have ended, whose CPU time counts only then.
    process.once('exit', () => process.stderr.write(timesOfThisProcess() + this.#line));
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const engines = new Set<string>();
    const leftOut = new Map<Need, { count: number; why: string }>();
    for (const { project, children } of modules) {
      const { galera, mysqlServers, missing = {} } = contextOf(project);
      if (mysqlServers === undefined) continue;
      const own = galera === undefined ? 'SQLite' : 'a Galera cluster of MariaDB';
      for (const name of [own, ...mysqlServers.map((server) => server.name)]) engines.add(name);
      for (const test of children.allTests()) {
        const need = test.meta().missing;
        if (need === undefined) continue;
        const { count } = leftOut.get(need) ?? { count: 0 };
        leftOut.set(need, { count: count + 1, why: missing[need] ?? '' });
      }
    }
    if (engines.size > 0) this.#line = lastLine([...engines], leftOut);
  }
}

/** The projects of packages have no set-up that provides anything. */
function contextOf(project: TestProject): Partial<ProvidedContext> {
  return project.getProvidedContext();
}

/** The line. @param leftOut of each thing that is missing: how many tests need it, and why it is missing */
export function lastLine(
  engines: readonly string[],
  leftOut: ReadonlyMap<Need, { readonly count: number; readonly why: string }>,
): string {
  const on = `The run was on ${engines.join(' and ')}`;
  if (leftOut.size === 0) return `${on}. No test was left out.\n`;
  const counts = [...leftOut.values()].map(({ count }) => count);
  const total = counts.reduce((sum, count) => sum + count);
  const reasons = [...leftOut].map(([need, { count, why }]) => `${count} for want of ${need}: ${why}`);
  return `${on}. LEFT OUT: ${total} ${total === 1 ? 'test' : 'tests'}, ${reasons.join(' ')}\n`;
}
