import type { Knex } from 'knex';
import { engineOf } from '../database.js';

/** The table of routes, with the columns for safe retries and the duplicate check. */
export const createRoutes = {
  name: '0001-routes',

  async up(knex: Knex): Promise<void> {
    if (!(await knex.schema.hasTable('routes'))) await createTable(knex);
    await addUnique(knex, 'routes_caller_request_id', ['caller', 'request_id']);
    await addUnique(knex, 'routes_shape', ['shape']);
  },
};

async function createTable(knex: Knex): Promise<void> {
  await knex.schema.createTable('routes', (table) => {
    if (engineOf(knex) === 'mysql') {
      // The other row formats, of which one may be the server's default, have no index of more than 767 bytes.
      table.engine('InnoDB row_format = DYNAMIC');
      table.charset('utf8mb4');
      table.collate('utf8mb4_bin');
    }
    // Bytes of a UUIDv7: time first, so that new rows go to the end of the clustered index.
    table.binary('id', 16).notNullable().primary();
    table.string('method', 32).notNullable();
    table.string('path', 2048).notNullable();
    // A JSON array as text: the JSON type reads back differently on MySQL, MariaDB and SQLite.
    table.text('middleware', 'mediumtext').notNullable();
    table.string('handler', 255).notNullable();
    // A number, so that no session's time zone affects it.
    table.bigInteger('created_at_ms').notNullable();
    // Compared by an index, so stored as UTF-8 bytes: utf8mb4_bin would ignore trailing spaces, and the exact collations
    // are either MySQL's or MariaDB's.
    table.specificType('caller', 'varbinary(1020)').notNullable();
    table.specificType('request_id', 'varbinary(128)').nullable();
    // What duplicates share, of at most a method, a space and a path; of a duplicate that is stored all the same, its id.
    // Null as long as duplicates are allowed. Text, so that routes of one application lie on the same pages: with hashes
    // among ten million routes, a create cost two and a half times as much.
    table.specificType('shape', 'varbinary(2081)').nullable();
  });
}

/** MySQL commits every statement, so an interrupted run may have created the index. */
async function addUnique(knex: Knex, indexName: string, columns: string[]): Promise<void> {
  if (engineOf(knex) === 'mysql' && (await hasIndex(knex, indexName))) return;
  await knex.schema.alterTable('routes', (table) => {
    table.unique(columns, { indexName });
  });
}

async function hasIndex(knex: Knex, indexName: string): Promise<boolean> {
  const row: unknown = await knex('information_schema.statistics')
    .where({ table_schema: knex.raw('database()'), table_name: 'routes', index_name: indexName })
    .first('index_name');
  return row !== undefined;
}
