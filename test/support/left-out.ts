import { readFileSync } from 'node:fs';
import type { Reporter, TestCase, TestModule } from 'vitest/node';
import type { Need } from './programs.js';

/** The unit of times in `/proc` on Linux. */
const TICKS_PER_SECOND = 100;
/** The states of a test that ran. */
const RUN: ReadonlySet<ReturnType<TestCase['result']>['state']> = new Set(['passed', 'failed']);

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
      const { galera, mysqlServers = [], missing = {} } = project.getProvidedContext().supplies ?? {};
      const own = galera === undefined ? 'SQLite' : 'a Galera cluster of MariaDB';
      for (const name of [own, ...mysqlServers.map((server) => server.name)]) engines.add(name);
      for (const test of children.allTests()) {
        const need = test.meta().missing;
        if (need === undefined) {
          if (!RUN.has(test.result().state)) notRun++;
          continue;
        }
        const { count } = leftOut.get(need) ?? { count: 0 };
        leftOut.set(need, { count: count + 1, why: missing[need] ?? '' });
      }
    }
    if (engines.size > 0) this.#line = lastLine([...engines], leftOut, notRun);
  }
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

/** The wall time of this process; on Linux also the CPU time of the process and its children that have ended. */
function timesOfThisProcess(): string {
  const wall = `The run took ${process.uptime().toFixed(0)} s`;
  let stat: string;
  try {
    stat = readFileSync('/proc/self/stat', 'utf8');
  } catch {
    return `${wall}.\n`;
  }
  // After the name: utime and stime of the process, then cutime and cstime of its children (proc_pid_stat(5)).
  const ticks = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 15)
    .map(Number);
  const cpuSeconds = ticks.reduce((sum, time) => sum + time) / TICKS_PER_SECOND;
  return `${wall}, and ${cpuSeconds.toFixed(0)} s of CPU time.\n`;
}
