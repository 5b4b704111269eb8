import type { ProvidedContext } from 'vitest';
import type { Reporter, TestCase, TestModule, TestProject } from 'vitest/node';
import type { Need } from './need.js';
import { timesOfThisProcess } from './times.js';

/** The states of a test that has a result. */
const RUN: ReadonlySet<ReturnType<TestCase['result']>['state']> = new Set(['passed', 'failed']);

/**
 * Ends a run with its wall and CPU time, and with a line that says which engines it was on, how many tests were skipped
 * because something is missing here, how to have it, and how many more have no result.
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
    let notRun = 0;
    for (const { project, children } of modules) {
      for (const test of children.allTests())
        if (test.meta().missing === undefined && !RUN.has(test.result().state)) notRun++;
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
    if (engines.size > 0) this.#line = lastLine([...engines], leftOut, notRun);
  }
}

/** The projects of packages have no set-up that provides anything. */
function contextOf(project: TestProject): Partial<ProvidedContext> {
  return project.getProvidedContext();
}

/**
 * The line.
 *
 * @param leftOut of each thing that is missing: how many tests need it, and why it is missing
 * @param notRun how many other tests have no result
 */
export function lastLine(
  engines: readonly string[],
  leftOut: ReadonlyMap<Need, { readonly count: number; readonly why: string }>,
  notRun: number,
): string {
  const on = `The run was on ${engines.join(' and ')}.`;
  if (leftOut.size === 0 && notRun === 0) return `${on} No test was skipped.\n`;
  const missing = [...leftOut].map(
    ([need, { count, why }]) => ` SKIPPED: ${tests(count)} without ${need}: ${why}`,
  );
  const others =
    notRun === 0 ? '' : ` NOT RUN: ${tests(notRun)} excluded by -t or stopped by a failure above.`;
  return `${on}${missing.join('')}${others}\n`;
}

function tests(count: number): string {
  return `${count} ${count === 1 ? 'test' : 'tests'}`;
}
