import type { Knex } from 'knex';

/** Whether the database is MySQL or MariaDB; otherwise it is the embedded one. */
export function isMysql(knex: Knex): boolean {
  return (knex.client as Knex.Client).config.client === 'mysql2';
}
