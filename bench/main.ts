import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { runBenchmark } from './benchmark.js';
import { openDatabaseServer } from './database.js';
import type { Goal } from './figures.js';
import { anatomyTable, writeDocument } from './report/document.js';
import { figureTable } from './report/table.js';
import { FULL, QUICK } from './scale.js';
import { Servers } from './servers.js';
import { sideBySide } from './side-by-side.js';

const DOCUMENT = resolve('docs/performance.md');

/**
 * `npm run bench`: measures the built service beside the bare limits of its stack, and prints the tables. `--quick` takes
 * about three minutes; `--write` also brings `docs/performance.md` and its plot up to date. Instead, `--compare` measures
 * the service beside that of another built checkout, in the given folder, and `--workers` the service with that many
 * workers beside one process; both print the comparison.
 */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean' },
      write: { type: 'boolean' },
      compare: { type: 'string' },
      workers: { type: 'string' },
    },
  });
  const { compare, workers } = values;
  const scale = values.quick === true ? QUICK : FULL;
  const database = await openDatabaseServer();
  const servers = new Servers();
  const others = new Servers(compare);
  const close = async (): Promise<void> => {
    await Promise.all([servers.close(), others.close()]);
    await database.close();
  };
  process.once('SIGINT', () => void close().finally(() => process.exit(130)));
  try {
    if (compare !== undefined) {
      const sides = { base: { servers: others, suffix: ', old' }, other: { servers, suffix: '' } };
      print(figureTable(await sideBySide(scale, database, sides, asCheapAsOld, 1, progress)));
    } else if (workers !== undefined) {
      const several = { servers, settings: { WORKERS: workers }, suffix: `, ${workers} workers` };
      const sides = { base: { servers, suffix: '' }, other: several };
      print(figureTable(await sideBySide(scale, database, sides, asGoodAsOne, Number(workers), progress)));
    } else {
      const run = await runBenchmark(scale, database, servers, progress);
      print([figureTable(run.rows), ...run.anatomies.map(anatomyTable)].join('\n\n'));
      if (values.write === true) await writeDocument(DOCUMENT, run);
    }
  } finally {
    await close();
  }
}

/** The most CPU time that a request may cost, as a multiple of the old one's. */
function asCheapAsOld(old: string): Goal[] {
  return [{ figure: 'serverCpuMs', times: old, atMost: 1.1 }];
}

/** The same, with its share of the primary process, as a multiple of one process's; and as many requests a second. */
function asGoodAsOne(one: string): Goal[] {
  return [
    { figure: 'rate', times: one, atLeast: 1 },
    { figure: 'serverCpuMs', times: one, atMost: 1.2 },
  ];
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Says on stderr what is under way, and since when, in seconds from the start. */
function progress(line: string): void {
  process.stderr.write(`${process.uptime().toFixed(0).padStart(4)} s  ${line}\n`);
}

await main();
