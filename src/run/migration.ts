import { parseArgs } from 'node:util';
import type { Knex } from 'knex';
import { readMigration } from '../settings/config.js';
import { closeDatabase, openForMigrations } from '../store/database.js';
import { migrateDown, migrateUp, migrationStatus, rereadShapes } from '../store/migrations.js';
import type { Terminal } from './process.js';
import { reachOrExplain, startProblem } from './start.js';

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
function givenOptions(args: readonly string[]): Options | undefined {
  let values: Options;
  try {
    ({ values } = parseArgs({
      args,
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
  const options = givenOptions(args);
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
    const lines = await work(knex, options);
    return lines.length > 0 ? lines : ['nothing to do'];
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
