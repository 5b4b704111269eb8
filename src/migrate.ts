import { parseArgs } from 'node:util';
import { reachOrExplain, startProblem } from './run/start.js';
import { readMigration } from './settings/config.js';
import { closeDatabase, openForMigrations } from './store/database.js';
import { migrateDown, migrateUp, migrationStatus } from './store/migrations.js';

const USAGE = `Usage: node dist/migrate.js [--down | --status | --help]
From sources: npm run migrate -- [--down | --status | --help]
Brings the schema of DATABASE_URL up to date; --down rolls the newest migration back, --status only reports.`;

/** Brings the schema up to date; `--down` rolls the newest migration back, `--status` only reports. */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      down: { type: 'boolean' },
      status: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help === true) {
    say(USAGE);
    return;
  }
  if (Object.keys(values).length > 1) {
    process.stderr.write(`${USAGE}\n`);
    process.exitCode = 1;
    return;
  }
  const { database, databaseWaitMs } = readMigration(process.env);
  const knex = openForMigrations(database);
  try {
    await reachOrExplain(knex, { waitMs: databaseWaitMs, log: say });
    if (values.status === true) {
      const { applied, pending } = await migrationStatus(knex);
      for (const name of applied) say(`applied ${name}`);
      for (const name of pending) say(`pending ${name}`);
    } else {
      const names = await (values.down === true ? migrateDown(knex) : migrateUp(knex));
      for (const name of names) say(`${values.down === true ? 'rolled back' : 'applied'} ${name}`);
      if (names.length === 0) say('nothing to do');
    }
  } finally {
    await closeDatabase(knex, database);
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

main().catch((error: unknown) => {
  process.stderr.write(`${startProblem(error)}\n`);
  process.exitCode = 1;
});
