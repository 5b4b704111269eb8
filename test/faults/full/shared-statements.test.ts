import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, inject, it } from 'vitest';
import { needs } from '../../support/needs.js';
import { tokenFor } from '../../support/service.js';
import { uuidAt } from '../../support/store-entries.js';
import type { Load } from '../programs/load-messages.js';
import { throughPort } from '../../support/tcp-proxy.js';
import { startDistantProxy } from '../rig/distant-proxy.js';
import { figure } from '../rig/figures.js';
import { keptBeside } from '../rig/kept.js';
import { scale } from '../rig/scale.js';
import { databaseOnMysql, migrate, startProcess } from '../rig/service-process.js';

/** What one caller sends at a time. */
const AT_A_TIME = 64;
const DURATION_MS = 0.5 * scale.loadMs;

/** The tokens of many callers. */
const CALLERS = Array.from({ length: AT_A_TIME }, (_, n) => tokenFor({ sub: `caller ${n}` }));

type Odd = Partial<Load>;

const at = (rate: number, operation: Load['operation']): Odd => ({ operation, rate });
const atATime = (operation: Load['operation']): Odd => ({ operation, callers: AT_A_TIME });
const PLAIN_AT_A_TIME: Odd = {
  operation: 'get',
  callers: AT_A_TIME,
  ids: Array.from({ length: 1_000 }, (_, i) => uuidAt(i)),
};

/** What one caller does, what it is compared with, and how much of that the others keep at least. */
interface Trouble {
  readonly what: string;
  readonly odd?: Odd;
  /** Default: as many plain creates. */
  readonly plain?: Odd;
  readonly through?: 'another instance';
  readonly duplicates?: 'reject';
  /** How far away the database is, in milliseconds; default: every distance that the test has. */
  readonly awayMs?: number;
  /** What the others do all the time. */
  readonly always?: Odd;
  /** What they do besides, in place of one caller. */
  readonly others?: Odd;
  readonly keep: number;
}

/** What costs a batch the most round trips, so that it is also tried with a database that is away. */
const FAR: readonly Trouble[] = [
  ...[20, 100].map((rate): Trouble => ({
    what: `${rate} refused duplicates with keys a second`,
    odd: at(rate, 'keyed duplicate'),
    plain: at(rate, 'create'),
    duplicates: 'reject',
    keep: 0.8,
  })),
];

/** What each engine answers in a way of its own. */
const ON_EACH_ENGINE: readonly Trouble[] = [
  ...FAR,
  { what: '100 repeats a second', odd: at(100, 'repeat'), plain: at(100, 'create'), keep: 0.8 },
  { what: '64 repeats at a time', odd: atATime('repeat'), plain: PLAIN_AT_A_TIME, keep: 0.8 },
  {
    what: '64 refused duplicates at a time',
    odd: atATime('duplicate'),
    plain: PLAIN_AT_A_TIME,
    duplicates: 'reject',
    keep: 0.8,
  },
];

const ON_MYSQL: readonly Trouble[] = [
  ...ON_EACH_ENGINE,
  {
    what: '100 refused duplicates a second',
    odd: at(100, 'duplicate'),
    plain: at(100, 'create'),
    duplicates: 'reject',
    keep: 0.8,
  },
  {
    what: '100 repeats a second through another instance',
    odd: at(100, 'repeat'),
    plain: at(100, 'create'),
    through: 'another instance',
    keep: 0.8,
  },
  {
    what: '64 dry runs at a time',
    odd: atATime('dry run'),
    plain: PLAIN_AT_A_TIME,
    duplicates: 'reject',
    keep: 0.8,
  },
  {
    what: '64 hedged creates at a time',
    odd: atATime('hedged create'),
    plain: atATime('keyed create'),
    keep: 0.8,
  },
  {
    what: '1 % repeats of many callers',
    always: { connections: CALLERS.length, tokens: CALLERS },
    others: { repeatEach: 100 },
    awayMs: 10,
    keep: 0.8,
  },
  { what: '1 % repeats among all', others: { repeatEach: 100 }, keep: 0.8 },
  { what: '5 % repeats among all', others: { repeatEach: 20 }, keep: 0.6 },
];

async function databaseInFile(): Promise<string> {
  const url = `sqlite:${join(await mkdtemp(join(inject('temporaryFolder'), 'shared-statements-')), 'routes.db')}`;
  await migrate(url);
  return url;
}

it.each([
  ...ON_EACH_ENGINE.map((trouble) => ({
    engine: 'the embedded database',
    createDatabase: databaseInFile,
    awayMs: 0,
    ...trouble,
  })),
  ...[0, ...scale.awayMs].flatMap((awayMs) =>
    (awayMs === 0 ? ON_MYSQL : FAR).map((trouble) => ({
      engine: `a MySQL-protocol server ${trouble.awayMs ?? awayMs} ms away`,
      createDatabase: databaseOnMysql,
      awayMs,
      ...trouble,
    })),
  ),
])(
  'on $engine, $what leave the others at least $keep of the creates that plain calls leave',
  { ...needs('server'), timeout: 180_000 },
  async ({ engine, createDatabase, awayMs, what, odd, plain, through, duplicates, always, others, keep }) => {
    const settings = { DATABASE_URL: await createDatabase(), DUPLICATE_ROUTES: duplicates ?? 'allow' };
    const url =
      awayMs === 0
        ? settings.DATABASE_URL
        : throughPort(
            settings.DATABASE_URL,
            await startDistantProxy(Number(new URL(settings.DATABASE_URL).port), awayMs / 2),
          );
    const service = await startProcess({ ...settings, DATABASE_URL: url });
    const { kept, ...rates } = await keptBeside(service, {
      goal: keep,
      durationMs: DURATION_MS,
      odd: odd && (() => odd),
      plain,
      through: through && (await startProcess(settings)),
      always,
      others,
    });
    figure(`${what}, on ${engine}`, { kept, ...shown(rates) });
    expect(kept, JSON.stringify(rates)).toBeGreaterThanOrEqual(keep);
  },
);

function shown({ plain, odd }: { plain: readonly number[]; odd: readonly number[] }) {
  return { 'creates/s beside plain calls': Math.max(...plain), 'beside these': Math.max(...odd) };
}
