import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { runBenchmark } from './benchmark.js';
import { compare } from './compare.js';
import { type DatabaseServer, openDatabaseServer } from './database.js';
import { anatomyTable, writeDocument } from './report/document.js';
import { figureTable } from './report/table.js';
import { FULL, QUICK, type Scale } from './scale.js';
import { Servers } from './servers.js';
import { compareWorkers } from './workers.js';

const DOCUMENT = resolve('docs/performance.md');

/**
 * `npm run bench`: measures the built service beside the bare limits of its stack, prints the tables and
 * keeps everything in `bench/results/`. `--quick` takes less than three minutes; `--write` also brings
 * `docs/performance.md` and its plot up to date. Instead, `--compare` measures the service beside that of another built
 * checkout, in the given folder, and `--workers` the service with that many workers beside one process; both print the
 * comparison.
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
  const scale = values.quick === true ? QUICK : FULL;
  const database = await openDatabaseServer();
  const servers = new Servers();
  const others = values.compare === undefined ? undefined : new Servers(values.compare);
  const close = async (): Promise<void> => {
    await Promise.all([servers.close(), others?.close()]);
    await database.close();
  };
  process.once('SIGINT', () => void close().finally(() => process.exit(130)));
  try {
    if (others !== undefined) print([figureTable(await compare(scale, database, servers, others, progress))]);
    else if (values.workers !== undefined)
      print([figureTable(await compareWorkers(scale, database, servers, Number(values.workers), progress))]);
    else await measure(scale, database, servers, values.write === true);
  } finally {
    await close();
  }
}

async function measure(
  scale: Scale,
  database: DatabaseServer,
  servers: Servers,
  write: boolean,
): Promise<void> {
  const run = await runBenchmark(scale, database, servers, progress);
  const results = resolve(`bench/results/${scale.name}.json`);
  await mkdir(dirname(results), { recursive: true });
  await writeFile(results, `${JSON.stringify(run, undefined, 2)}\n`);
  print([figureTable(run.rows), ...run.anatomies.map(anatomyTable)]);
  if (write) await writeDocument(DOCUMENT, run);
}

function print(tables: readonly string[]): void {
  process.stdout.write(`${tables.join('\n\n')}\n`);
}

/** Says on stderr what is under way, and since when, in seconds from the start. */
function progress(line: string): void {
  process.stderr.write(`${process.uptime().toFixed(0).padStart(4)} s  ${line}\n`);
}

await main();
