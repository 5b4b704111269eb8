import { copyFileSync, mkdtempSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Knex } from 'knex';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { openDatabase } from '../../src/store/database.js';
import { EmbeddedFile } from '../../src/store/embedded-file.js';
import { KnexRouteStore } from '../../src/store/knex-route-store.js';
import { migrateUp } from '../../src/store/migrations.js';
import { entryOf } from '../support/store-entries.js';

describe('an embedded database whose file is in use', () => {
  let file: string;
  let knex: Knex;
  let store: KnexRouteStore;

  beforeEach(async () => {
    file = join(mkdtempSync(join(inject('temporaryFolder'), 'file-')), 'routes.db');
    await open(file);
  });

  afterEach(() => knex.destroy());

  async function open(path: string): Promise<void> {
    const files = new EmbeddedFile(path);
    knex = openDatabase({ engine: 'sqlite', file: path }, 0, files);
    await migrateUp(knex);
    store = new KnexRouteStore(knex, { file: files });
  }

  const insert = (requestId?: string): Promise<unknown> =>
    store.insert(entryOf({}, { idempotencyKey: requestId }), 'allow');

  function replace(): void {
    copyFileSync(file, `${file}.copy`);
    renameSync(`${file}.copy`, file);
  }

  it.each([
    [
      'deleted',
      () => {
        rmSync(file);
      },
    ],
    [
      'moved away',
      () => {
        renameSync(file, `${file}.old`);
      },
    ],
    ['replaced by a copy', replace],
    [
      'left without its log',
      () => {
        rmSync(`${file}-wal`);
      },
    ],
    [
      "left without its log's index",
      () => {
        rmSync(`${file}-shm`);
      },
    ],
  ])('acknowledges nothing and is not healthy once it is %s', async (_, change) => {
    await insert('before');
    await expect(store.ping()).resolves.toBeUndefined();
    change();
    const unavailable = { reason: 'STORE_UNAVAILABLE' };
    await expect(store.ping()).rejects.toMatchObject(unavailable);
    await expect(insert()).rejects.toMatchObject(unavailable);
    await expect(insert('before')).rejects.toMatchObject(unavailable);
    const several = await Promise.allSettled([insert(), insert(), insert()]);
    expect(several).toMatchObject(several.map(() => ({ status: 'rejected', reason: unavailable })));
  });

  it('names the file in the cause, for the log', async () => {
    rmSync(file);
    await expect(store.ping()).rejects.toMatchObject({
      cause: new Error(`The file ${file} was deleted or replaced. Put it back, or restart the service.`),
    });
  });

  it('is well again when the same file is back', async () => {
    renameSync(file, `${file}.old`);
    await expect(store.ping()).rejects.toThrow();
    renameSync(`${file}.old`, file);
    await expect(store.ping()).resolves.toBeUndefined();
    await expect(insert()).resolves.toEqual({ outcome: 'inserted' });
  });

  it('is not opened again under the same name once it was replaced', async () => {
    const other = openDatabase({ engine: 'sqlite', file });
    await knex.raw('PRAGMA busy_timeout = 0');
    await other.raw('BEGIN IMMEDIATE');
    await expect(insert()).rejects.toMatchObject({ reason: 'STORE_UNAVAILABLE' });
    await other.raw('COMMIT');
    await other.destroy();
    replace();
    await expect(insert()).rejects.toMatchObject({ reason: 'STORE_UNAVAILABLE' });
  });

  it('may be behind a link', async () => {
    await knex.destroy();
    symlinkSync(file, `${file}.link`);
    await open(`${file}.link`);
    await expect(insert()).resolves.toEqual({ outcome: 'inserted' });
    rmSync(`${file}-wal`);
    await expect(insert()).rejects.toMatchObject({ reason: 'STORE_UNAVAILABLE' });
  });
});
