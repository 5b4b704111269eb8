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
export default class RunSummary implements Reporter {
  #line = '';

  constructor() {
    // On exit, so that it follows all other output, and the CPU time includes the workers, which have ended by then.
    process.once('exit', () => process.stderr.write(timesOfThisProcess() + this.#line));
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    if (modules.length === 0) return;
    const supplies = modules.map(suppliesOf);
    const tests = modules.flatMap((module) => [...module.children.allTests()]);

    const engines = new Set(supplies.flatMap(enginesOf));
    const notRun = tests.filter((test) => neededBy(test) === undefined && !RAN.has(test.result().state));
    this.#line = lastLine([...engines], skippedIn(tests, supplies), notRun.length);
  }
}

/** The tests that were skipped for the same missing need. */
interface Skipped {
  readonly need: Need;
  readonly count: number;
  /** How to get what is missing. */
  readonly remedy: string;
}

function suppliesOf({ project }: TestModule): Partial<Supplies> {
  return project.getProvidedContext().supplies ?? {};
}

/** The missing need for which a test was skipped, if it was. */
function neededBy(test: TestCase): Need | undefined {
  return test.meta().missing;
}

/** The tests that were skipped, by their missing needs. */
function skippedIn(tests: readonly TestCase[], supplies: readonly Partial<Supplies>[]): Skipped[] {
  const missing = tests.map(neededBy).filter((need) => need !== undefined);
  return [...new Set(missing)].map((need) => ({
    need,
    count: missing.filter((other) => other === need).length,
    remedy: supplies.map((all) => all.missing?.[need]).find((text) => text !== undefined) ?? '',
  }));
}

/** The database that the tests start themselves, and the servers that they use. */
function enginesOf({ galera, mysqlServers = [] }: Partial<Supplies>): string[] {
  const ofTests = galera === undefined ? 'SQLite' : 'a Galera cluster of MariaDB';
  return [ofTests, ...mysqlServers.map(({ name }) => name)];
}

/** The last line of a run. @param notRun how many tests did not run, without those that were skipped */
function lastLine(engines: readonly string[], skipped: readonly Skipped[], notRun: number): string {
  const on = `The run was on ${engines.join(' and ')}.`;
  if (skipped.length === 0 && notRun === 0) return `${on} No test was skipped.\n`;
  const missing = skipped.map(
    ({ need, count, remedy }) => ` SKIPPED: ${tests(count)} without ${need}: ${remedy}`,
  );
  const others =
    notRun === 0 ? '' : ` NOT RUN: ${tests(notRun)} excluded by -t or stopped by a failure above.`;
  return `${on}${missing.join('')}${others}\n`;
}

function tests(count: number): string {
  return `${count} ${count === 1 ? 'test' : 'tests'}`;
}
