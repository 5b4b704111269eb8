import { type Migration, MIGRATIONS } from '../../src/store/migrations.js';

/** A backward-compatible migration: older versions of the service can ignore it. */
export const EXPAND: Migration = {
  name: '9001-note',
  async up(knex) {
    if (await knex.schema.hasColumn('routes', 'note')) return;
    await knex.schema.alterTable('routes', (table) => {
      table.string('note').nullable();
    });
  },
};

/** The migrations of the next version. */
export const NEXT: readonly Migration[] = [...MIGRATIONS, EXPAND];
