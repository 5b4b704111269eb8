import type { Database } from '../../settings/database-url.js';
import type { Engine, EngineName } from './engine.js';
import { mysqlEngine } from './mysql.js';
import { sqliteEngine } from './sqlite.js';

/** Checks that each engine stands under the name of the databases that it opens. */
const CHECKED: { readonly [Name in EngineName]: Engine<Extract<Database, { engine: Name }>> } = {
  mysql: mysqlEngine,
  sqlite: sqliteEngine,
};

/** For callers that know a name only at run time, and so cannot be checked: they take the engine by its database's name. */
export const ENGINES: Readonly<Record<EngineName, Engine>> = CHECKED;
