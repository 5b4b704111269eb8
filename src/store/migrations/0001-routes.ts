import type { Knex } from 'knex';
import { isMysql } from './is-mysql.js';

/** The table of routes, with everything that safe retries and the duplicate check need. */
export const createRoutes = {
  name: '0001-routes',

  async up(knex: Knex): Promise<void> {
    await knex.schema.createTable('routes', (table) => {
      if (isMysql(knex)) {
        table.engine('InnoDB');
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
      // Compared by an index, so stored as UTF-8 bytes: utf8mb4_bin would ignore trailing spaces.
      table.specificType('caller', 'varbinary(1020)').notNullable();
      table.specificType('request_id', 'varbinary(128)').nullable();
      // SHA-256 of method and erased path, held only by the first route of its shape.
      table.binary('shape', 32).nullable();
      table.unique(['caller', 'request_id'], { indexName: 'routes_caller_request_id' });
      table.unique(['shape'], { indexName: 'routes_shape' });
    });
  },

  async down(knex: Knex): Promise<void> {
    await knex.schema.dropTable('routes');
  },
};
