import { parseArgs } from 'node:util';
import type { Knex } from 'knex';
import { reachOrExplain, startProblem } from './run/start.js';
import { readMigration } from './settings/config.js';
import { closeDatabase, openForMigrations } from './store/database.js';
import { migrateDown, migrateUp, migrationStatus, rereadShapes } from './store/migrations.js';

const USAGE = `Usage: node dist/migrate.js [--status | --reread-paths | --down NAME [--force] | --help]
From sources: npm run migrate -- [the same options]
Brings the schema of DATABASE_URL up to date. --status only reports. --reread-paths makes the routes that an earlier
version has stored since count as duplicates. --down rolls the migration NAME back, which must be the newest; it drops a
table that has rows only with --force.`;

interface Options {
  readonly help?: boolean;
  readonly status?: boolean;
  readonly 'reread-paths'?: boolean;
  readonly down?: readonly string[];
  readonly force?: boolean;
}

/** The options of the command line; undefined when some are unknown, lack a value or do not go together. */
function givenOptions(): Options | undefined {
  let values: Options;
  try {
    ({ values } = parseArgs({
      options: {
        help: { type: 'boolean', short: 'h' },
        status: { type: 'boolean' },
        'reread-paths': { type: 'boolean' },
        down: { type: 'string', multiple: true },
        force: { type: 'boolean' },
      },
    }));
  } catch {
    return undefined;
  }
  const { force, ...tasks } = values;
  const { down = [] } = tasks;
  const fit =
    Object.keys(tasks).length <= 1 && down.length <= 1 && (force === undefined || down.length === 1);
  return fit ? values : undefined;
}

/** Brings the schema up to date, or does what an option says. */
async function main(): Promise<void> {
  const options = givenOptions();
  if (options === undefined) {
    process.stderr.write(`${USAGE}\n`);
    process.exitCode = 1;
    return;
  }
  if (options.help === true) {
    say(USAGE);
    return;
  }
  const { database, databaseWaitMs } = readMigration(process.env);
  const knex = openForMigrations(database);
  try {
    await reachOrExplain(knex, { waitMs: databaseWaitMs, log: say });
    const lines = await work(knex, options);
    for (const line of lines.length > 0 ? lines : ['nothing to do']) say(line);
  } finally {
    await closeDatabase(knex, database);
  }
}

/** Resolves with a line for each thing done or reported. */
async function work(knex: Knex, options: Options): Promise<string[]> {
  const [down] = options.down ?? [];
  if (down !== undefined) return (await migrateDown(knex, down, options)) ? [`rolled back ${down}`] : [];
  if (options['reread-paths'] === true) {
    const changes = await rereadShapes(knex);
    return changes > 0 ? [`changed shapes: ${changes}`] : [];
  }
  if (options.status === true) {
    const { applied, pending } = await migrationStatus(knex);
    return [...applied.map((name) => `applied ${name}`), ...pending.map((name) => `pending ${name}`)];
  }
  return (await migrateUp(knex)).map((name) => `applied ${name}`);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

main().catch((error: unknown) => {
  process.stderr.write(`${startProblem(error)}\n`);
  process.exitCode = 1;
});
