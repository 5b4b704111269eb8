import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Database } from '../../src/settings/database-url.js';
import { openForCalls } from '../../src/store/database.js';
import type { KnexRouteStoreOptions } from '../../src/store/knex-route-store.js';
import { engines } from '../support/engines.js';
import {
  type Fault,
  type MysqlFaultFront,
  startMysqlFaultFront,
  type Statement,
} from '../support/mysql-fault-front.js';
import { describeOn } from '../support/needs.js';
import { CALL_TIMES, type KnexRouteStore, type OpenedStore, openStore } from '../support/open-store.js';
import { entryOf } from '../support/store-entries.js';

// Named as in dev.mysql.com/doc/mysql-errors/en/server-error-reference.html and
// mariadb.com/docs/server/reference/error-codes.
const ER_UNKNOWN_ERROR = 1105;
/** The user lacks a grant. */
const ER_TABLEACCESS_DENIED_ERROR = 1142;
const ER_NO_SUCH_TABLE = 1146;
const ER_ERROR_DURING_COMMIT = 1180;
/** The transaction was rolled back. */
const ER_LOCK_DEADLOCK = 1213;
/** The server is read-only: another one has taken over. */
const ER_OPTION_PREVENTS_STATEMENT = 1290;
const ER_QUERY_INTERRUPTED = 1317;
const ER_DATA_TOO_LONG = 1406;
const ER_CONNECTION_KILLED = 1927;

/** Some of the failures that leave open whether a statement was executed; driver-errors.test.ts has all of them. */
const UNCLEAR: readonly { readonly what: string; readonly failure: Omit<Fault, 'done'> }[] = [
  { what: 'a lost connection', failure: {} },
  { what: 'an error during the commit', failure: { answer: ER_ERROR_DURING_COMMIT } },
  { what: 'an error that mysql2 has no name for', failure: { answer: ER_CONNECTION_KILLED } },
];

/** The most gets that share a statement (`src/store/batch.ts`). */
const GETS_PER_STATEMENT = 64;
/** The most statements of gets that run at a time, each over a connection of its own. */
const STATEMENTS_AT_A_TIME = 4;

/** The connection is lost before the server executes the statement, or after. */
const LOST_BEFORE: Fault = { done: false };
const LOST_AFTER: Fault = { done: true };

/** The server answers with this error, and does not execute the statement. */
function refusal(errno: number): Fault {
  return { done: false, answer: errno };
}

/** Gives the first statements of this kind these faults, in turn. @param later the fault of all others; default: none */
function faultsAt(
  kind: Statement['kind'],
  faults: readonly (Fault | undefined)[],
  later?: Fault,
): (statement: Statement) => Fault | undefined {
  let count = 0;
  return (statement) => {
    if (statement.kind !== kind) return undefined;
    const index = count++;
    return index < faults.length ? faults[index] : later;
  };
}

/** The statements of this kind that a front has seen. */
function statementsOf(kind: Statement['kind'], { statements }: MysqlFaultFront): Statement[] {
  return statements.filter((statement) => statement.kind === kind);
}

// The embedded engine, the first, has no connection to lose.
describeOn(engines.slice(1))('on $name', (engine) => {
  let database: OpenedStore;

  beforeAll(async () => {
    database = await openStore(engine);
  });

  afterAll(() => database.close());

  /** Opens a store behind a front with faults. By default, it refuses duplicates. */
  async function openBehindFront(
    faultOf: (statement: Statement) => Fault | undefined,
    options: Partial<KnexRouteStoreOptions> = {},
  ): Promise<{ readonly store: KnexRouteStore; readonly front: MysqlFaultFront }> {
    const front = await startMysqlFaultFront(database.port, faultOf);
    const knex = database.connect(front.port);
    return { store: database.storeWith({ duplicates: 'reject', ...options }, knex), front };
  }

  /** How many rows have the path of each entry. */
  async function rowsOf(entries: readonly ReturnType<typeof entryOf>[]): Promise<number[]> {
    const rows = await database.knex<{ path: string }>('routes').select('path');
    return entries.map(({ route }) => rows.filter(({ path }) => path === route.path).length);
  }

  describe('a create whose outcome an attempt has left open', () => {
    /** What the database answers to all later attempts, for every row. */
    const REFUSALS = [
      { why: 'a missing grant', errno: ER_TABLEACCESS_DENIED_ERROR },
      { why: 'a missing table', errno: ER_NO_SUCH_TABLE },
      { why: 'a value that is too long', errno: ER_DATA_TOO_LONG },
    ];

    describe.each(REFUSALS)('and that is then refused for $why', ({ errno }) => {
      it.each([1, 7])('is unavailable, alone or in a batch: of %i', async (count) => {
        const { store, front } = await openBehindFront(faultsAt('INSERT', [LOST_AFTER], refusal(errno)));
        const entries = Array.from({ length: count }, () => entryOf());

        const settled = await Promise.allSettled(entries.map((entry) => store.insert(entry)));
        expect(settled).toEqual(
          entries.map(() => ({
            status: 'rejected',
            reason: expect.objectContaining({ reason: 'STORE_UNAVAILABLE' }) as unknown,
          })),
        );
        expect(statementsOf('INSERT', front).length).toBeGreaterThan(1);
        await expect(rowsOf(entries)).resolves.toEqual(entries.map(() => 1));
      });
    });

    it('is unavailable once it is refused, while the next create is refused as such', async () => {
      const faults = faultsAt('INSERT', [LOST_BEFORE], refusal(ER_TABLEACCESS_DENIED_ERROR));
      const { store } = await openBehindFront(faults);
      await expect(store.insert(entryOf())).rejects.toMatchObject({ reason: 'STORE_UNAVAILABLE' });
      await expect(store.insert(entryOf())).rejects.toMatchObject({ errno: ER_TABLEACCESS_DENIED_ERROR });
    });

    it('is unavailable if that was a later attempt, in which the database was silent', async () => {
      const front = await startMysqlFaultFront(
        database.port,
        faultsAt('INSERT', [
          refusal(ER_LOCK_DEADLOCK),
          { done: true, answer: 'silence' },
          refusal(ER_TABLEACCESS_DENIED_ERROR),
        ]),
      );
      const knex = openForCalls({ ...database.location, port: front.port } as Database, {
        ...CALL_TIMES,
        // Connecting must be quicker, on a busy machine, too.
        silenceMs: 1_000,
      });
      onTestFinished(() => knex.destroy());

      const insert = database.storeWith({ duplicates: 'reject' }, knex).insert(entryOf());
      await expect(insert).rejects.toMatchObject({ reason: 'STORE_UNAVAILABLE' });
      expect(statementsOf('INSERT', front)).toHaveLength(3);
    });
  });

  describe('a create', () => {
    it.each([
      { what: 'a deadlock', errno: ER_LOCK_DEADLOCK },
      { what: 'an attempt at a read-only server', errno: ER_OPTION_PREVENTS_STATEMENT },
    ])('that is refused after $what, which has stored nothing, is refused as such', async ({ errno }) => {
      const faults = faultsAt('INSERT', [refusal(errno)], refusal(ER_TABLEACCESS_DENIED_ERROR));
      const { store } = await openBehindFront(faults);
      await expect(store.insert(entryOf())).rejects.toMatchObject({ errno: ER_TABLEACCESS_DENIED_ERROR });
    });

    it('that reaches the wrong server is retried on another one, to which gets go, too', async () => {
      /** The connections up to this number lead to a server that has become read-only. */
      let demoted = 0;
      const { store, front } = await openBehindFront(({ kind, connection }) =>
        kind === 'INSERT' && connection <= demoted ? refusal(ER_OPTION_PREVENTS_STATEMENT) : undefined,
      );
      const get = (count: number): Promise<unknown> =>
        Promise.all(Array.from({ length: count }, () => store.find(entryOf().route.id)));
      const connectionsUsed = (): number[] => front.statements.map(({ connection }) => connection);

      // Several connections lead to the server before it is demoted. So many gets need two statements at a time.
      await expect
        .poll(async () => {
          await get(GETS_PER_STATEMENT + 1);
          return new Set(connectionsUsed()).size;
        })
        .toBeGreaterThan(1);
      demoted = Math.max(...connectionsUsed());

      const entry = entryOf();
      await expect(store.insert(entry)).resolves.toEqual({ outcome: 'inserted' });
      expect(statementsOf('INSERT', front)).toHaveLength(2);
      await expect(rowsOf([entry])).resolves.toEqual([1]);

      // More statements than run at a time: no connection of the pool is spared.
      const before = front.statements.length;
      await get((STATEMENTS_AT_A_TIME + 1) * GETS_PER_STATEMENT);
      const connections = connectionsUsed().slice(before);
      expect(connections.length).toBeGreaterThan(STATEMENTS_AT_A_TIME);
      expect(Math.min(...connections)).toBeGreaterThan(demoted);
    });

    it.each([
      { how: 'with a request id', duplicates: 'allow', idempotencyKey: 'key' },
      { how: 'while duplicates are refused', duplicates: 'reject', idempotencyKey: undefined },
      { how: 'with both', duplicates: 'reject', idempotencyKey: 'another key' },
    ] as const)(
      'whose outcome is lost is not a repeat or duplicate of itself: $how',
      async ({ duplicates, idempotencyKey }) => {
        const { store, front } = await openBehindFront(faultsAt('INSERT', [LOST_AFTER]), { duplicates });
        const entry = entryOf({}, { idempotencyKey });
        await expect(store.insert(entry)).resolves.toEqual({ outcome: 'inserted' });
        expect(statementsOf('INSERT', front)).toHaveLength(2);
        await expect(rowsOf([entry])).resolves.toEqual([1]);
      },
    );

    it('that a proxy sends twice is stored once', async () => {
      // The second one meets the row of the first, without an earlier error.
      const { store } = await openBehindFront(faultsAt('INSERT', [{ done: 'twice' }]));
      const entry = entryOf();
      await expect(store.insert(entry)).resolves.toEqual({ outcome: 'inserted' });
      await expect(rowsOf([entry])).resolves.toEqual([1]);
    });

    it('is sent once while the database is known to be away, and again and again as long as it is not', async () => {
      let isAway = false;
      const faults = faultsAt('INSERT', [], refusal(ER_LOCK_DEADLOCK));
      const { store, front } = await openBehindFront(faults, { isAway: () => isAway });
      const create = store.insert(entryOf());
      await expect.poll(() => statementsOf('INSERT', front).length).toBeGreaterThan(2);

      isAway = true;
      await expect(create).rejects.toMatchObject({ reason: 'STORE_UNAVAILABLE' });
      const before = statementsOf('INSERT', front).length;
      await expect(store.insert(entryOf())).rejects.toMatchObject({ reason: 'STORE_UNAVAILABLE' });
      expect(statementsOf('INSERT', front)).toHaveLength(before + 1);
    });

    it('is not retried once its caller is gone', async () => {
      const caller = new AbortController();
      const faults = faultsAt('INSERT', [], refusal(ER_LOCK_DEADLOCK));
      const { store, front } = await openBehindFront((statement) => {
        if (statementsOf('INSERT', front).length === 2) caller.abort();
        return faults(statement);
      });
      await expect(store.insert(entryOf(), caller.signal)).rejects.toMatchObject({
        name: 'CancelledBeforeSend',
      });
      expect(statementsOf('INSERT', front)).toHaveLength(2);
    });

    it('is no longer retried on an unreachable database once its caller is gone', async () => {
      const caller = new AbortController();
      const faults = faultsAt('INSERT', [], LOST_BEFORE);
      const { store, front } = await openBehindFront((statement) => {
        caller.abort();
        front.refuse();
        return faults(statement);
      });
      await expect(store.insert(entryOf(), caller.signal)).rejects.toMatchObject({
        name: 'CancelledBeforeSend',
      });
    });
  });

  describe('creates that share a statement', () => {
    it.each(UNCLEAR.flatMap((unclear) => [true, false].map((done) => ({ ...unclear, done }))))(
      'are each stored once after $what (statement executed: $done)',
      async ({ failure, done }) => {
        const { store, front } = await openBehindFront(faultsAt('INSERT', [{ done, ...failure }]));
        const entries = Array.from({ length: 20 }, () => entryOf());
        const outcomes = await Promise.all(entries.map((entry) => store.insert(entry)));
        expect(outcomes).toEqual(entries.map(() => ({ outcome: 'inserted' })));
        expect(statementsOf('INSERT', front)).toHaveLength(2);
        await expect(rowsOf(entries)).resolves.toEqual(entries.map(() => 1));
      },
    );

    it('are each stored, repeated or refused as without faults, however many attempts fail', async () => {
      const faults: readonly Fault[] = [
        refusal(ER_UNKNOWN_ERROR),
        refusal(ER_OPTION_PREVENTS_STATEMENT),
        LOST_BEFORE,
        // From here on, the rows are stored.
        LOST_AFTER,
        { done: true, answer: ER_ERROR_DURING_COMMIT },
        { done: true, answer: ER_QUERY_INTERRUPTED },
      ];
      const { store, front } = await openBehindFront(faultsAt('INSERT', faults));
      const earlier = entryOf({ path: '/earlier/:id' }, { idempotencyKey: 'earlier' });
      await database.strict.insert(earlier);

      const fresh = [
        entryOf({}, { idempotencyKey: 'fresh' }),
        entryOf({}, { idempotencyKey: 'also fresh' }),
        entryOf(),
        entryOf(),
      ];
      const repeat = entryOf({ path: '/earlier/:id' }, { idempotencyKey: 'earlier' });
      const duplicate = entryOf({ path: '/earlier/:key' });
      const outcomes = await Promise.all([...fresh, repeat, duplicate].map((entry) => store.insert(entry)));
      expect(outcomes).toEqual([
        ...fresh.map(() => ({ outcome: 'inserted' })),
        { outcome: 'repeated', route: earlier.route },
        { outcome: 'duplicate', id: earlier.route.id },
      ]);
      expect(statementsOf('INSERT', front)).toHaveLength(faults.length + 1);
      await expect(rowsOf([...fresh, earlier, duplicate])).resolves.toEqual([...fresh.map(() => 1), 1, 0]);
    });
  });

  describe('a get', () => {
    it.each(UNCLEAR)('is retried after $what', async ({ failure }) => {
      const { store, front } = await openBehindFront(faultsAt('SELECT', [{ done: false, ...failure }]));
      const entry = entryOf();
      await database.strict.insert(entry);
      await expect(store.find(entry.route.id)).resolves.toEqual(entry.route);
      expect(statementsOf('SELECT', front)).toHaveLength(2);
    });

    it.each(
      (['BEGIN', 'SELECT'] as const).flatMap((kind) => UNCLEAR.map((unclear) => ({ ...unclear, kind }))),
    )('by request id or shape is retried after $what at its $kind', async ({ what, failure, kind }) => {
      const fault = { done: false, ...failure };
      // Each of the two gets meets its fault, and then is retried without one.
      const { store, front } = await openBehindFront(faultsAt(kind, [fault, undefined, fault]));
      const idempotencyKey = `${what} at ${kind}`;
      const entry = entryOf({}, { idempotencyKey });
      await database.strict.insert(entry);

      await expect(store.findByIdempotencyKey('me', idempotencyKey)).resolves.toEqual(entry.route);
      await expect(store.findDuplicate(entry.shape)).resolves.toBe(entry.route.id);
      expect(statementsOf(kind, front)).toHaveLength(4);
    });
  });
});
