import { type Connection, createConnection } from 'mysql2/promise';
import { expect, it, onTestFinished } from 'vitest';
import { needs } from '../../support/needs.js';
import { tokenFor } from '../../support/service.js';
import type { Load } from '../programs/load-result.js';
import { figure } from '../rig/figures.js';
import { keptBeside } from '../rig/kept.js';
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
