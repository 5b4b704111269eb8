import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { runBenchmark } from './benchmark.js';
import { openDatabaseServer } from './database.js';
import { requirePlatform } from './platform.js';
import { allFigures, readRun, writeDocuments } from './report.js';
import { FULL, GUARD, QUICK } from './scale.js';
import { Servers } from './servers.js';
import { pairTable, sideBySide, tooDear } from './side-by-side.js';

const DOCS = resolve('docs');

/**
 * `npm run bench`: measures the built service next to its peers and bare servers, and prints all figures.
 * `--go PATH` names the binary of the Go peer. `--quick` takes about three minutes. `--write` also updates
 * `docs/performance.md`, its chart and data, and `docs/scaling.md`, and needs the Node of the image and a quiet machine.
 * `--redraw` measures nothing, and makes these pages anew from the data.
 *
 * `--compare FOLDER` measures the service next to the one built in another checkout instead, and fails when a request
 * costs more.
 */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      go: { type: 'string' },
      quick: { type: 'boolean' },
      write: { type: 'boolean' },
      redraw: { type: 'boolean' },
      compare: { type: 'string' },
    },
  });
  if (values.redraw === true) {
    await writeDocuments(DOCS, await readRun(DOCS));
    return;
  }
  if (values.write === true) requirePlatform('.');
  const { compare } = values;
  const quick = values.quick === true;
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
      const sides = { base: others, other: servers };
      const pairs = await sideBySide(quick ? QUICK : GUARD, database, sides, progress);
      print(pairTable(pairs));
      const dear = tooDear(pairs);
      for (const line of dear) process.stderr.write(`${line}\n`);
      if (dear.length > 0) process.exitCode = 1;
    } else {
      const run = await runBenchmark(quick ? QUICK : FULL, database, servers, values.go, progress);
      print(allFigures(run));
      if (values.write === true) await writeDocuments(DOCS, run);
    }
  } finally {
    await close();
  }
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Prints a step to stderr, with the seconds since the start of the process. */
function progress(line: string): void {
  process.stderr.write(`${process.uptime().toFixed(0).padStart(4)} s  ${line}\n`);
}

await main();
