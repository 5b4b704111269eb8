import { parseArgs } from 'node:util';
import type { Knex } from 'knex';
import { reachOrExplain, useOrExplain } from '../lifecycle/database-start.js';
import { readMigration } from '../settings/config.js';
import { closeDatabase, openForMigrations } from '../store/database.js';
import { countDuplicates } from '../store/duplicates.js';
import { migrateUp, migrationStatus } from '../store/migrations.js';
import { startProblem, type Terminal } from './terminal.js';

const USAGE = `Usage: node dist/migrate.js [--status | --count-duplicates | --help]
From sources: npm run migrate -- [the same options]
Brings the schema of DATABASE_URL up to date. --status only reports. --count-duplicates makes the routes count for
DUPLICATE_ROUTES=reject that were stored with DUPLICATE_ROUTES=allow.`;

/** The options of the command line; undefined when some are unknown or do not go together. */
function optionsIn(args: readonly string[]) {
  try {
    const { values } = parseArgs({
      args,
      options: {
        help: { type: 'boolean', short: 'h' },
        status: { type: 'boolean' },
        'count-duplicates': { type: 'boolean' },
      },
    });
    return Object.keys(values).length <= 1 ? values : undefined;
  } catch {
    return undefined;
  }
}

type Options = NonNullable<ReturnType<typeof optionsIn>>;

/**
 * Brings the schema up to date, or does what an option says.
 *
 * @param args the command line, without the program
 * @returns the exit code: 0, or 1 after a message on stderr
 */
export async function runMigration(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  { stdout, stderr }: Terminal,
): Promise<number> {
  const say = (line: string): void => void stdout.write(`${line}\n`);
  const fail = (line: string): number => {
    stderr.write(`${line}\n`);
    return 1;
  };
  const options = optionsIn(args);
  if (options === undefined) return fail(USAGE);
  if (options.help === true) {
    say(USAGE);
    return 0;
  }
  try {
    for (const line of await migrate(options, readMigration(env), say)) say(line);
    return 0;
  } catch (error) {
    return fail(startProblem(error));
  }
}

/** Opens the database for the work. Resolves with the lines to print at its end. */
async function migrate(
  options: Options,
  { database, databaseWaitMs }: ReturnType<typeof readMigration>,
  log: (line: string) => void,
): Promise<readonly string[]> {
  const knex = openForMigrations(database);
  try {
    await reachOrExplain(knex, { waitMs: databaseWaitMs, log });
    const lines = await useOrExplain(() => work(knex, options));
    return lines.length > 0 ? lines : ['nothing to do'];
  } finally {
    await closeDatabase(knex);
  }
}

/** Resolves with a line for each thing done or reported. */
async function work(knex: Knex, options: Options): Promise<string[]> {
  if (options['count-duplicates'] === true) {
    const routes = await countDuplicates(knex);
    return routes > 0 ? [`counted routes: ${routes}`] : [];
  }
  if (options.status === true) {
    const { applied, pending } = await migrationStatus(knex);
    return [...applied.map((name) => `applied ${name}`), ...pending.map((name) => `pending ${name}`)];
  }
  return (await migrateUp(knex)).map((name) => `applied ${name}`);
}
