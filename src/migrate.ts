import { parseArgs } from 'node:util';
import { readDatabase } from './config.js';
import { opening } from './opening.js';
import { closeDatabase, openDatabase, reachDatabase } from './store/database.js';
import { migrateDown, migrateUp, migrationStatus } from './store/migrations.js';

const USAGE = 'Usage: npm run migrate [-- --down | --status]';

/** Brings the schema up to date; `--down` takes the newest batch back, `--status` only tells. */
async function main(): Promise<void> {
  const { values } = parseArgs({ options: { down: { type: 'boolean' }, status: { type: 'boolean' } } });
  if (values.down === true && values.status === true) throw new Error(USAGE);
  const database = readDatabase(process.env);
  const knex = openDatabase(database);
  try {
    await opening('The database of DATABASE_URL can not be reached', () => reachDatabase(knex));
    if (values.status === true) {
      for (const { name, applied } of await migrationStatus(knex))
        say(`${applied ? 'applied' : 'pending'} ${name}`);
    } else {
      const names = await (values.down === true ? migrateDown(knex) : migrateUp(knex));
      for (const name of names) say(`${values.down === true ? 'taken back' : 'applied'} ${name}`);
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
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
