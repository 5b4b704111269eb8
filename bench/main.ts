import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { runBenchmark } from './benchmark.js';
import { openDatabaseServer } from './database.js';
import type { Goal } from './figures.js';
import { Instances } from './instances.js';
import { anatomyTable, writeDocument } from './report/document.js';
import { figureTable } from './report/table.js';
import { FULL, QUICK } from './scale.js';
import { Servers } from './servers.js';
import { type Side, sideBySide } from './side-by-side.js';

const DOCUMENT = resolve('docs/performance.md');

/**
 * `npm run bench`: measures the built service beside the bare limits of its stack, and prints the tables. `--quick` takes
 * about three minutes; `--write` also brings `docs/performance.md` and its plot up to date. Instead, `--compare` measures
 * the service beside that of another built checkout, in the given folder, and `--instances` two instances of the
 * service behind HAProxy beside one without; both print the comparison.
 */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean' },
      write: { type: 'boolean' },
      compare: { type: 'string' },
      instances: { type: 'boolean' },
    },
  });
  const { compare } = values;
  const scale = values.quick === true ? QUICK : FULL;
  const database = await openDatabaseServer();
  const servers = new Servers();
  const others = new Servers(compare);
  const instances = new Instances(servers);
  const close = async (): Promise<void> => {
    await Promise.all([instances.close(), servers.close(), others.close()]);
    await database.close();
  };
  process.once('SIGINT', () => void close().finally(() => process.exit(130)));
  const one: Side = { start: (settings) => servers.service(settings), suffix: '' };
  try {
    if (compare !== undefined) {
      const old: Side = { start: (settings) => others.service(settings), suffix: ', old' };
      print(
        figureTable(await sideBySide(scale, database, { base: old, other: one }, asCheapAsOld, 1, progress)),
      );
    } else if (values.instances === true) {
      const two: Side = { start: (settings) => instances.start(settings), suffix: ', two instances' };
      print(
        figureTable(await sideBySide(scale, database, { base: one, other: two }, besideOne, 2, progress)),
      );
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

/** As many requests a second as one instance answers; and at most thrice its CPU time, HAProxy's included. */
function besideOne(one: string): Goal[] {
  return [
    { figure: 'rate', times: one, atLeast: 1 },
    { figure: 'serverCpuMs', times: one, atMost: 3 },
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
