import type { Knex } from 'knex';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { countDuplicates } from '../../src/store/duplicates.js';
import { engines } from '../support/engines.js';
import { describeOn } from '../support/needs.js';
import { openEmpty, type OpenedStore, openStore } from '../support/open-store.js';
import { entryOf, uuidAt } from '../support/store-entries.js';

const INSERTED = { outcome: 'inserted' };

describeOn(engines)('routes that were stored while duplicates were allowed, on $name,', (engine) => {
  let database: OpenedStore;
  let knex: Knex;
  let age: number;

  beforeEach(async () => {
    database = await openStore(engine);
    ({ knex } = database);
    age = Date.UTC(2026, 0, 1);
  });

  afterEach(() => database.close());

  /** Routes with these paths, each younger than the one before. */
  const entriesOf = (paths: readonly string[]) => paths.map((path) => entryOf({ path, id: uuidAt(age++) }));

  /** Stores routes while duplicates are allowed. */
  async function store(...paths: readonly string[]): Promise<void> {
    await Promise.all(entriesOf(paths).map((entry) => database.store.insert(entry)));
  }

  /** The paths of all routes, oldest first, with their shapes, or `id` in place of it. */
  async function storedShapes(): Promise<[string, string | null][]> {
    const rows = await knex<{ id: Buffer; path: string; shape: Buffer | null }>('routes')
      .orderBy('id')
      .select('id', 'path', 'shape');
    return rows.map(({ id, path, shape }) => {
      if (shape === null) return [path, null];
      const text = Buffer.from(shape);
      return [path, text.equals(Buffer.from(id)) ? 'id' : text.toString()];
    });
  }

  it('have no shape until they are counted, and then the oldest of each shape has it', async () => {
    await store('/a', '/b/:id', '/a', '/b/:key', '/c:get');
    await expect(storedShapes()).resolves.toEqual(
      ['/a', '/b/:id', '/a', '/b/:key', '/c:get'].map((path) => [path, null]),
    );
    await expect(countDuplicates(knex)).resolves.toBe(5);
    const expected = [
      ['/a', 'GET /a'],
      ['/b/:id', 'GET /b/:'],
      ['/a', 'id'],
      ['/b/:key', 'id'],
      ['/c:get', 'GET /c:'],
    ];
    await expect(storedShapes()).resolves.toEqual(expected);
    await expect(countDuplicates(knex)).resolves.toBe(0);
    await expect(storedShapes()).resolves.toEqual(expected);
  });

  it('leave its shape to a route that was stored while duplicates were refused', async () => {
    await store('/a/:x');
    const [refusing] = entriesOf(['/a/:y']);
    await expect(database.strict.insert(refusing ?? entryOf())).resolves.toEqual(INSERTED);
    await store('/a/:z');
    await expect(countDuplicates(knex)).resolves.toBe(2);
    await expect(storedShapes()).resolves.toEqual([
      ['/a/:x', 'id'],
      ['/a/:y', 'GET /a/:'],
      ['/a/:z', 'id'],
    ]);
  });

  it('are counted in several statements of less than 1 MiB, however long their paths are', async () => {
    const paths = Array.from({ length: 1_200 }, (_, n) => `/${n}/:id`.padEnd(n < 600 ? 2_048 : 9, 'd'));
    await store(...paths);
    const lengths: number[] = [];
    knex.on('query', ({ sql }: { sql: string }) => lengths.push(sql.length));
    await expect(countDuplicates(knex)).resolves.toBe(paths.length);
    expect(Math.max(...lengths)).toBeLessThan(1_048_576);
    const shapes = (await storedShapes()).map(([, shape]) => shape);
    expect(shapes).toEqual(paths.map((path) => `GET ${path.replace(/:.*/, ':')}`));
  });

  it('are counted beside instances that create routes of the same shapes, none of which fails', async () => {
    const paths = Array.from({ length: 1_500 }, (_, n) => `/beside/${n % 500}/:id`);
    await store(...paths);
    const counting = countDuplicates(database.connect());
    const again = countDuplicates(database.connect());
    const outcomes: string[] = [];
    for (let round = 0; round < 10; round++) {
      const entries = entriesOf(Array.from({ length: 50 }, (_, n) => `/beside/${500 - n * round}/:key`));
      const results = await Promise.all(entries.map((entry) => database.strict.insert(entry)));
      outcomes.push(...results.map(({ outcome }) => outcome));
    }
    await Promise.all([counting, again]);
    expect(outcomes.filter((outcome) => !['inserted', 'duplicate'].includes(outcome))).toEqual([]);
    const shapes = (await storedShapes()).map(([, shape]) => shape).filter((shape) => shape !== 'id');
    expect(shapes).not.toContain(null);
    expect(new Set(shapes).size).toBe(shapes.length);
    expect(shapes.length).toBeGreaterThanOrEqual(500);
  });

  it('are refused to be counted before the schema is up to date', async () => {
    const { knex: empty, close } = await openEmpty(engine);
    await expect(countDuplicates(empty)).rejects.toThrow(/^The database lacks 0001-routes\b/);
    await close();
  });
});
