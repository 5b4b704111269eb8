import type { Reporter, TestCase, TestModule } from 'vitest/node';
import type { Supplies } from './global-setup.js';
import { timesOfThisProcess } from './process-times.js';
import type { Need } from './programs.js';

/** The states of a test that ran. */
const RAN: ReadonlySet<ReturnType<TestCase['result']>['state']> = new Set(['passed', 'failed']);

/**
 * Prints the wall and CPU time at the end of a run, and a line with the engines, the number of tests skipped for each
 * missing need, how to get what is missing, and the number of other tests that did not run.
 */
export default class LeftOut implements Reporter {
  #line = '';

  constructor() {
    // On exit, so that it follows all other output, and the CPU time includes the workers, which have ended by then.
    process.once('exit', () => process.stderr.write(timesOfThisProcess() + this.#line));
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const engines = new Set<string>();
    const leftOut = new Map<Need, { count: number; why: string }>();
    let notRun = 0;
    for (const { project, children } of modules) {
      const supplies: Partial<Supplies> = project.getProvidedContext().supplies ?? {};
      for (const name of enginesOf(supplies)) engines.add(name);
      for (const test of children.allTests()) {
        const need = test.meta().missing;
        if (need === undefined) {
          if (!RAN.has(test.result().state)) notRun++;
          continue;
        }
        const { count } = leftOut.get(need) ?? { count: 0 };
        leftOut.set(need, { count: count + 1, why: supplies.missing?.[need] ?? '' });
      }
    }
    if (engines.size > 0) this.#line = lastLine([...engines], leftOut, notRun);
  }
}

/** The database that the tests start themselves, and the servers that they use. */
function enginesOf({ galera, mysqlServers = [] }: Partial<Supplies>): string[] {
  const ofTests = galera === undefined ? 'SQLite' : 'a Galera cluster of MariaDB';
  return [ofTests, ...mysqlServers.map(({ name }) => name)];
}

/**
 * The last line of a run.
 *
 * @param leftOut for each missing need, how many tests were skipped, and why it is missing
 * @param notRun how many other tests did not run
 */
function lastLine(
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
