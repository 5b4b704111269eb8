import type { Knex } from 'knex';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { NewRoute } from '../../src/registry/route-store.js';
import { checkPath } from '../../src/registry/path-pattern.js';
import { shapeOf } from '../../src/registry/route.js';
import { migrateDown, migrateUp, rereadShapes } from '../../src/store/migrations.js';
import { shapesAsText } from '../../src/store/migrations/0002-shapes-as-text.js';
import { patternShapes, patternShapeOf } from '../../src/store/migrations/0003-pattern-shapes.js';
import { EVERY_ROUTER_PATTERN } from '../registry/router-patterns.js';
import { engines } from '../support/engines.js';
import fc from '../support/fast-check.js';
import { EXPAND, NEXT } from '../support/later-schemas.js';
import { describeOn } from '../support/needs.js';
import { type OpenedStore, openStore } from '../support/open-store.js';
import { entryOf, uuidAt } from '../support/store-entries.js';

/** The shape of the version before patterns were read. */
function literalShape(path: string): string {
  return `GET ${path.replace(/\/:[^/]*/g, '/:')}`;
}

let lastCreatedMs = Date.UTC(2026, 0, 1);

/** A new route of that version, younger than all before. */
function literalEntry(path: string): NewRoute {
  const createdAt = new Date(++lastCreatedMs);
  return entryOf({ path, id: uuidAt(createdAt.getTime()), createdAt }, { shape: literalShape(path) });
}

/** Every path with its shape, null if another route holds that, the oldest first. */
async function storedIn(knex: Knex): Promise<[string, string | null][]> {
  const rows = await knex<{ path: string; shape: Buffer | null }>('routes')
    .orderBy('id')
    .select('path', 'shape');
  return rows.map(({ path, shape }) => [path, shape && Buffer.from(shape).toString()]);
}

describeOn(engines)('the migration to shapes of patterns on $name', (engine) => {
  let database: OpenedStore;
  let knex: Knex;

  beforeEach(async () => {
    database = await openStore(engine);
    ({ knex } = database);
    await migrateDown(knex, patternShapes.name);
  });

  afterEach(() => database.close());

  /** Stores these routes as the version before did, the oldest first. */
  async function store(...paths: readonly string[]): Promise<void> {
    const entries = paths.map((path) => literalEntry(path));
    // One by one, so that the oldest of a shape holds it.
    for (const entry of entries) await database.store.insert(entry, 'allow');
  }

  const stored = () => storedIn(knex);

  it('changes only shapes with a colon within a segment or the name of a wildcard', async () => {
    const kept = ['/', '/users/:id', '/users/:name', '/files/*', '/a(b', '/a*b', "/!$&'()+,;=@%2F"];
    await store(...kept);
    const before = await stored();
    await store(
      '/v1/books:batchGet',
      '/:a/b:c',
      '/other/*path',
      '/x(*all)',
      '/12:30',
      '/a:',
      '/a:b-:b',
      '/$:$',
    );
    await migrateUp(knex);
    const after = await stored();
    expect(after.slice(0, kept.length)).toEqual(before);
    expect(after.slice(kept.length)).toEqual([
      ['/v1/books:batchGet', 'GET /v1/books:'],
      ['/:a/b:c', 'GET /:/b:'],
      ['/other/*path', 'GET /other/*'],
      ['/x(*all)', 'GET /x(*)'],
      ['/12:30', 'GET /12:'],
      ['/a:', String.raw`GET /a\:`],
      ['/a:b-:b', 'GET /a:-:'],
      ['/$:$', 'GET /$:'],
    ]);
  });

  it('leaves the shape to the oldest of the routes that now share it, and back each has its own', async () => {
    const paths = [
      ...[
        '/books:get',
        '/books:search',
        '/files/*path',
        '/files/*',
        '/files/*rest',
        '/logs/*',
        '/logs/*path',
      ],
      ...['/t:', '/t:id', '/books:search', '/u:id', '/u:'],
    ];
    await store(...paths);
    const before = await stored();
    await migrateUp(knex);
    await expect(stored()).resolves.toEqual([
      ['/books:get', 'GET /books:'],
      ['/books:search', null],
      ['/files/*path', 'GET /files/*'],
      ['/files/*', null],
      ['/files/*rest', null],
      ['/logs/*', 'GET /logs/*'],
      ['/logs/*path', null],
      ['/t:', String.raw`GET /t\:`],
      ['/t:id', 'GET /t:'],
      ['/books:search', null],
      ['/u:id', 'GET /u:'],
      ['/u:', String.raw`GET /u\:`],
    ]);
    await expect(migrateDown(knex, patternShapes.name)).resolves.toBe(true);
    await expect(stored()).resolves.toEqual(before);
  });

  it('converts more rows than one statement takes, whichever holds a shape of another one', async () => {
    const paths = Array.from({ length: 1_100 }, (_, n) => [
      `/f${n}/*`,
      `/b${n}:get`,
      `/f${n % 7}/*x${n}`,
    ]).flat();
    const entries = paths.map((path) => literalEntry(path));
    await Promise.all(entries.map((entry) => database.store.insert(entry, 'allow')));
    await migrateUp(knex);
    const seen = new Set<string>();
    const expected = paths.map((path) => {
      const shape = shapeOf({ method: 'GET', path });
      const isFirst = !seen.has(shape);
      seen.add(shape);
      return [path, isFirst ? shape : null];
    });
    await expect(stored()).resolves.toEqual(expected);
    await patternShapes.up(knex);
    await expect(stored()).resolves.toEqual(expected);
  });

  it('gives no shape to the longest of the paths that are no pattern', async () => {
    const longest = `/a${':-'.repeat(1_023)}`;
    await store(longest);
    await migrateUp(knex);
    await expect(stored()).resolves.toEqual([[longest, null]]);
    await migrateDown(knex, patternShapes.name);
    await expect(stored()).resolves.toEqual([[longest, `GET ${longest}`]]);
  });

  it('keeps every shape of this version unique on its way down and up', async () => {
    await migrateUp(knex);
    const entries = [...new Map(EVERY_ROUTER_PATTERN.map(({ path }) => [path, entryOf({ path })])).values()];
    await Promise.all(entries.map((entry) => database.store.insert(entry, 'allow')));
    const before = await stored();
    await migrateDown(knex, patternShapes.name);
    await migrateUp(knex);
    const shapes = (rows: [string, string | null][]) => rows.map(([, shape]) => shape).sort();
    expect(shapes(await stored())).toEqual(shapes(before));
  });

  it.each([patternShapes, shapesAsText])(
    '$name up and down sends statements below 1 MiB, however long methods and paths are',
    async (migration) => {
      const entries = Array.from({ length: 500 }, (_, n) => {
        const route = { method: 'M'.repeat(32), path: `/${n}/*`.padEnd(2_048, `${n}:c`) };
        return entryOf(route, { shape: `${route.method} ${route.path}` });
      });
      await Promise.all(entries.map((entry) => database.store.insert(entry, 'allow')));
      const lengths: number[] = [];
      knex.on('query', ({ sql, bindings }: { sql: string; bindings: readonly (Buffer | null)[] }) => {
        // mysql2 sends bytes in hexadecimal.
        lengths.push(sql.length + bindings.reduce((sum, each) => sum + 3 + 2 * (each?.length ?? 0), 0));
      });
      await migration.down(knex);
      await migration.up(knex);
      expect(Math.max(...lengths)).toBeGreaterThan(700_000);
      expect(Math.max(...lengths)).toBeLessThan(1_048_576);
    },
  );
});

describeOn(engines)('paths that are read again on $name', (engine) => {
  let database: OpenedStore;
  let knex: Knex;

  beforeEach(async () => {
    database = await openStore(engine);
    ({ knex } = database);
  });

  afterEach(() => database.close());

  /** Stores a route with this shape, younger than all before. */
  async function store(path: string, shape: string): Promise<void> {
    await database.store.insert({ ...literalEntry(path), shape }, 'allow');
  }

  it('have the shapes of this version, whichever version stored them, and the oldest holds each', async () => {
    // As 0.1.0 or an early 0.2.0 stores them.
    await store('/books:get', 'GET /books:get');
    await store('/12:30', String.raw`GET /12\:30`);
    await store('/:a', 'GET /:');
    await store('/:a$b', 'GET /:$b');
    await store('/x/:a$b', 'GET /x/:$b');
    await store('/x/:a', 'GET /x/:');
    await store(String.raw`/:a([(])/:b([)])`, String.raw`GET /:([(])/:b([)])`);
    await store('/books:find', 'GET /books:');
    await expect(rereadShapes(knex)).resolves.toBe(6);
    const expected = [
      ['/books:get', 'GET /books:'],
      ['/12:30', 'GET /12:'],
      ['/:a', 'GET /:'],
      ['/:a$b', null],
      ['/x/:a$b', 'GET /x/:'],
      ['/x/:a', null],
      ['/:a([(])/:b([)])', 'GET /:([(])/:([)])'],
      ['/books:find', null],
    ];
    await expect(storedIn(knex)).resolves.toEqual(expected);
    await expect(rereadShapes(knex)).resolves.toBe(0);
    await expect(storedIn(knex)).resolves.toEqual(expected);
  });

  it('while instances create routes of the same shapes: none fails, and the oldest holds each in the end', async () => {
    const paths = Array.from({ length: 300 }, (_, n) => `/b${n}:get`);
    for (const path of paths) await store(path, `GET ${path}`);
    const instance = database.storeWith({}, database.connect());
    const ended = new AbortController();
    const creates = (async () => {
      for (let n = 0; !ended.signal.aborted; n = (n + 1) % paths.length) {
        await Promise.all([
          instance.insert(entryOf({ path: `/b${n}:allow` }), 'allow'),
          instance.insert(entryOf({ path: `/b${n}:reject` }), 'reject'),
        ]);
      }
    })();
    try {
      for (let round = 0; round < 5; round++) await rereadShapes(knex);
    } finally {
      ended.abort();
      await creates;
    }
    const rows = await storedIn(knex);
    const held = paths.map((path) => [path, `GET ${path.replace('get', '')}`]);
    expect(rows.slice(0, paths.length)).toEqual(held);
  });

  it('are refused on the schema of another version', async () => {
    await migrateDown(knex, patternShapes.name);
    await expect(rereadShapes(knex)).rejects.toThrow(`The database lacks ${patternShapes.name}.`);
    await migrateUp(knex, NEXT);
    await expect(rereadShapes(knex)).rejects.toThrow(
      `A later version has migrated the database (${EXPAND.name}). Use that version.`,
    );
  });
});

/** Every character and piece with a meaning. */
const piece = fc.constantFrom(
  ...Array.from('/:*?+\\()[]{}<>.-_a9$"'),
  ...[':a', ':"b"', '*a', '*"b"', '::', '(?', ':a(', ':b{', ':c<', '[^', '[]', '(.:', '/:'],
);

it('the shape that the migration gives any path that is accepted is that of the registry', () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 14 }), (pieces) => {
      const route = { method: 'GET', path: `/${pieces.join('')}` };
      fc.pre(checkPath(route.path).length === 0);
      expect(patternShapeOf(route)).toBe(shapeOf(route));
    }),
    { numRuns: 5_000 },
  );
});
