import { type Migration, type Schema, SCHEMA } from '../../src/store/migrations.js';

/** A migration that changes nothing for versions that do not know it. */
export const EXPAND: Migration = {
  name: '9001-expand-note',
  async up(knex) {
    if (await knex.schema.hasColumn('routes', 'note')) return;
    await knex.schema.alterTable('routes', (table) => {
      table.string('note').nullable();
    });
  },
  async down(knex) {
    await knex.raw('alter table routes drop column note');
  },
};

/** A migration that ends all versions but those that need the one before it, as they use another column. */
export const CONTRACT: Migration = {
  name: '9002-contract-9001-handler',
  async up(knex) {
    if (!(await knex.schema.hasColumn('routes', 'handler'))) return;
    // Knex would rebuild the table of the embedded database.
    await knex.raw('alter table routes drop column handler');
  },
  async down(knex) {
    await knex.schema.alterTable('routes', (table) => {
      table.string('handler').notNullable().defaultTo('');
    });
  },
};

/** The version after this one, which brings a migration and needs it no more than this one does. */
export const NEXT: Schema = { ...SCHEMA, migrations: [...SCHEMA.migrations, EXPAND] };
/** The version after that, whose queries need it. */
export const NEEDING: Schema = { ...NEXT, needed: EXPAND.name };
/** The last one, which takes away what nobody uses any more. */
export const CONTRACTED: Schema = { ...NEEDING, migrations: [...NEXT.migrations, CONTRACT] };
