import { type Migration, MIGRATIONS } from '../../src/store/migrations.js';

/** A backward-compatible migration: older versions of the service can ignore it. */
export const EXPAND: Migration = {
  name: '9001-later',
  async up(knex) {
    if (await knex.schema.hasColumn('routes', 'later')) return;
    await knex.schema.alterTable('routes', (table) => {
      table.string('later').nullable();
    });
  },
};

/** The migrations of the next version. */
export const NEXT: readonly Migration[] = [...MIGRATIONS, EXPAND];
