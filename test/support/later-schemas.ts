import { type Migration, MIGRATIONS } from '../../src/store/migrations.js';

/** A migration that changes nothing for versions that do not know it. */
export const EXPAND: Migration = {
  name: '9001-note',
  async up(knex) {
    if (await knex.schema.hasColumn('routes', 'note')) return;
    await knex.schema.alterTable('routes', (table) => {
      table.string('note').nullable();
    });
  },
  async down(knex) {
    if (!(await knex.schema.hasColumn('routes', 'note'))) return;
    await knex.raw('alter table routes drop column note');
  },
};

/** The migrations of the version after this one. */
export const NEXT: readonly Migration[] = [...MIGRATIONS, EXPAND];
