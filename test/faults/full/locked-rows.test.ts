import { type Connection, createConnection } from 'mysql2/promise';
import { expect, it, onTestFinished } from 'vitest';
import { needs } from '../../support/needs.js';
import { tokenFor } from '../../support/service.js';
import type { Load } from '../programs/load-messages.js';
import { figure } from '../rig/figures.js';
import { keptBeside, shareOf } from '../rig/kept.js';
import { runLoad } from '../rig/load-process.js';
import { scale } from '../rig/scale.js';
import { databaseOnMysql, startProcess } from '../rig/service-process.js';

/** The shape of the route of the load program's repeats and duplicates, and shapes just before and behind it. */
const [BEFORE, SHAPE, BEHIND] = ['GET /samd', 'GET /same/:', 'GET /samf'];
/** Otherwise, the optimizer may read, and so lock, the whole of a small table. */
const BY_SHAPE = 'routes force index (routes_shape)';
const INSERT =
  "insert into routes (id, method, path, middleware, handler, created_at_ms, caller, request_id, shape) values (unhex(replace(uuid(), '-', '')), 'GET', '/', '[]', 'h', 0, ?, ?, ?)";

/** A lock that a session of somebody else holds, and what one caller sends meanwhile. */
interface Lock {
  readonly what: string;
  readonly operation: Load['operation'];
  /** How much of it; default: once a second. */
  readonly odd?: Partial<Load>;
  /** Whether the route is stored before. */
  readonly stored?: true;
  readonly take: (session: Connection) => Promise<unknown>;
}

const LOCKS: readonly Lock[] = [
  {
    what: 'the stored route of a repeat, which it deletes',
    operation: 'repeat',
    stored: true,
    take: (session) => session.query(`delete routes from ${BY_SHAPE} where shape = ?`, [Buffer.from(SHAPE)]),
  },
  {
    what: 'a gap between shapes',
    operation: 'duplicate',
    take: (session) =>
      session.query(`select id from ${BY_SHAPE} where shape > ? and shape < ? for update`, [
        Buffer.from(BEFORE),
        Buffer.from(BEHIND),
      ]),
  },
  ...[{ rate: 1 }, { callers: 32 }].map((odd): Lock => ({
    what: 'all routes of one caller, which it deletes',
    operation: 'keyed create',
    odd,
    take: (session) =>
      session.query("delete routes from routes force index (routes_caller_request_id) where caller = 'odd'"),
  })),
];

const ONCE_A_SECOND: Partial<Load> = { rate: 1 };

/** A first load, which also warms the service up. */
const ONE_SECOND = { connections: 1, callers: 8, durationMs: 1_000, token: tokenFor({ sub: 'odd' }) };

it.each(
  LOCKS.flatMap((lock) => scale.besideLocks.map((callers) => ({ odd: ONCE_A_SECOND, ...lock, callers }))),
)(
  'while a session locks $what, and one caller needs it ($odd), $callers others keep four fifths of their creates, and none fails',
  { ...needs('server'), timeout: 180_000 },
  async ({ what, operation, odd: much, stored, take, callers }) => {
    const url = await databaseOnMysql();
    const session = await createConnection({ uri: url });
    onTestFinished(() => session.end());
    for (const shape of [BEFORE, BEHIND])
      await session.query(INSERT, [Buffer.from('other'), null, Buffer.from(shape)]);
    const service = await startProcess({ DATABASE_URL: url, DUPLICATE_ROUTES: 'reject' });
    await runLoad(service, { ...ONE_SECOND, operation: stored === true ? operation : 'create' });
    await session.beginTransaction();
    await take(session);
    const result = await keptBeside(service, {
      goal: 0.8,
      durationMs: scale.loadMs,
      callers,
      plain: { operation: 'create', ...much },
      odd: () => ({ operation, ...much }),
    });
    const { kept, plain, odd, failed } = result;
    figure(`${callers} others while a session locks ${what} (${JSON.stringify(much)})`, {
      'creates/s beside plain calls': Math.max(...plain),
      'beside these': Math.max(...odd),
      kept,
      failed,
    });
    expect.soft(failed, JSON.stringify(result)).toBe(0);
    expect.soft(kept, JSON.stringify(result)).toBeGreaterThanOrEqual(0.8);
  },
);

/** A caller whose keyed creates are locked, and the others, who do not all wait as long as the database does. */
interface Callers {
  readonly who: string;
  readonly settings?: Readonly<Record<string, string>>;
  /** What the caller sends, all of it twice a second. */
  readonly odd: readonly Partial<Load>[];
  readonly others?: Partial<Load>;
}

const LOCKED: Partial<Load> = { operation: 'keyed create' };
const PATIENCE: Partial<Load> = { timeoutMs: 1_000 };

const CALLERS: readonly Callers[] = [
  { who: 'it gives up after a second', odd: [{ ...LOCKED, ...PATIENCE }] },
  { who: 'it hangs up after a second', odd: [{ ...LOCKED, leaveAfterMs: 1_000 }] },
  {
    who: 'all give up after a second',
    odd: [{ ...LOCKED, ...PATIENCE }],
    others: { ...PATIENCE, operation: 'keyed create' },
  },
  { who: 'DEADLINE_MS is 1000', settings: { DEADLINE_MS: '1000' }, odd: [LOCKED] },
  { who: 'every other create of it is stored', odd: [LOCKED, { operation: 'create' }] },
];

/** By then, the locked caller is known. */
const LEARNING_MS = 6_000;
/** Long enough for several locked creates. */
const ROUND_MS = Math.max(scale.loadMs, 3_000);

it.each(CALLERS)(
  'while a session locks the new keys of one caller, and $who, the others soon keep four fifths of their creates',
  { ...needs('server'), timeout: 180_000 },
  async ({ who, settings, odd, others }) => {
    const url = await databaseOnMysql();
    const session = await createConnection({ uri: url });
    onTestFinished(() => session.end());
    const [before, behind] = ['/keyed', '/keyee'].map((key) => Buffer.from(key));
    const caller = Buffer.from('odd');
    for (const key of [before, behind]) await session.query(INSERT, [caller, key, null]);
    const service = await startProcess({ DATABASE_URL: url, DUPLICATE_ROUTES: 'reject', ...settings });
    await session.beginTransaction();
    await session.query(
      'select id from routes force index (routes_caller_request_id) where caller = ? and request_id > ? and request_id < ? for update',
      [caller, before, behind],
    );
    /** The rate of the others beside some loads of the one caller. */
    const rateBeside = async (loads: readonly Partial<Load>[], durationMs: number): Promise<number> => {
      const beside = loads.map((load) =>
        runLoad(service, {
          connections: 1,
          rate: 2,
          ...load,
          durationMs,
          token: tokenFor({ sub: 'odd' }),
        }),
      );
      const { goodRate } = await runLoad(service, { connections: 8, callers: 128, ...others, durationMs });
      await Promise.all(beside);
      return goodRate;
    };
    await rateBeside(odd, LEARNING_MS);
    const share = await shareOf(
      0.8,
      () => rateBeside([], ROUND_MS),
      () => rateBeside(odd, ROUND_MS),
    );
    const { kept, plain, odd: rates } = share;
    figure(`128 others while a session locks the new keys of one caller, and ${who}`, {
      'creates/s beside nothing': Math.max(...plain),
      'beside these': Math.max(...rates),
      kept,
    });
    expect(kept, JSON.stringify(share)).toBeGreaterThanOrEqual(0.8);
  },
);
