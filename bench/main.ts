import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { runBenchmark } from './benchmark.js';
import { openDatabaseServer } from './database.js';
import { anatomyTable, writeDocument } from './report/document.js';
import { figureTable } from './report/table.js';
import { FULL, QUICK } from './scale.js';
import { Servers } from './servers.js';

const DOCUMENT = resolve('docs/performance.md');

/**
 * `npm run bench`: measures the built service beside the bare limits of its stack, prints the tables and
 * keeps everything in `bench/results/`. `--quick` takes less than two minutes; `--write` also brings
 * `docs/performance.md` and its plot up to date.
 */
async function main(): Promise<void> {
  const { values } = parseArgs({ options: { quick: { type: 'boolean' }, write: { type: 'boolean' } } });
  const scale = values.quick === true ? QUICK : FULL;
  const database = await openDatabaseServer();
  const servers = new Servers();
  const close = async (): Promise<void> => {
    await servers.close();
    await database.close();
  };
  process.once('SIGINT', () => void close().finally(() => process.exit(130)));
  try {
    const run = await runBenchmark(scale, database, servers, progress);
    const results = resolve(`bench/results/${scale.name}.json`);
    await mkdir(dirname(results), { recursive: true });
    await writeFile(results, `${JSON.stringify(run, undefined, 2)}\n`);
    const tables = [figureTable(run.rows), ...run.anatomies.map(anatomyTable)];
    process.stdout.write(`${tables.join('\n\n')}\n`);
    if (values.write === true) await writeDocument(DOCUMENT, run);
  } finally {
    await close();
  }
}
/** Says on the terminal, beside the tables, what is under way and since when, in seconds from the start. */
function progress(line: string): void {
  process.stderr.write(`${process.uptime().toFixed(0).padStart(4)} s  ${line}\n`);
}

await main();
