import type { Database } from '../../settings/database-url.js';
import type { Engine, EngineName } from './engine.js';
import { mysqlEngine } from './mysql.js';
import { sqliteEngine } from './sqlite.js';

/** The engines by the name of their databases: the type checks that each opens the databases of its name. */
const ENGINES_OF_DATABASES: { readonly [Name in EngineName]: Engine<Extract<Database, { engine: Name }>> } = {
  mysql: mysqlEngine,
  sqlite: sqliteEngine,
};

/** The same for callers that know a name only at run time: they must take the engine by the name of their database. */
export const ENGINES: Readonly<Record<EngineName, Engine>> = ENGINES_OF_DATABASES;
