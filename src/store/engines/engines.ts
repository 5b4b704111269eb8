import type { Database } from '../../settings/database-url.js';
import type { Engine, EngineName } from './engine.js';
import { mysqlEngine } from './mysql.js';
import { sqliteEngine } from './sqlite.js';

/** Each engine opens the databases that have its name. */
const BY_NAME: { readonly [Name in EngineName]: Engine<Extract<Database, { engine: Name }>> } = {
  mysql: mysqlEngine,
  sqlite: sqliteEngine,
};

export const ENGINES: Readonly<Record<EngineName, Engine>> = BY_NAME;
