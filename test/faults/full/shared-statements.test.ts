import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, inject, it } from 'vitest';
import { needs } from '../../support/needs.js';
import { tokenFor } from '../../support/service.js';
import { uuidAt } from '../../support/store-entries.js';
import type { Load } from '../programs/load-result.js';
import { figure } from '../rig/figures.js';
import { runLoad } from '../rig/load-process.js';
import { scale } from '../rig/scale.js';
import { databaseOnMysql, migrate, type ServiceProcess, startProcess } from '../rig/service-process.js';

/** The creates of all other callers, in a closed loop. */
const OTHERS = { connections: 8, callers: 128 };
/** What one caller sends at a time. */
const AT_A_TIME = 64;
const ROUNDS = 2;

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
  /** What the others themselves do. */
  readonly others?: Odd;
  readonly keep: number;
}

const TROUBLES: readonly Trouble[] = [
  ...[20, 100].flatMap((rate): Trouble[] => [
    { what: `${rate} repeats a second`, odd: at(rate, 'repeat'), plain: at(rate, 'create'), keep: 0.8 },
    {
      what: `${rate} refused duplicates a second`,
      odd: at(rate, 'duplicate'),
      plain: at(rate, 'create'),
      duplicates: 'reject',
      keep: 0.8,
    },
  ]),
  {
    what: '100 repeats a second through another instance',
    odd: at(100, 'repeat'),
    plain: at(100, 'create'),
    through: 'another instance',
    keep: 0.8,
  },
  { what: '64 repeats at a time', odd: atATime('repeat'), plain: PLAIN_AT_A_TIME, keep: 0.8 },
  {
    what: '64 refused duplicates at a time',
    odd: atATime('duplicate'),
    plain: PLAIN_AT_A_TIME,
    duplicates: 'reject',
    keep: 0.8,
  },
  {
    what: '64 dry runs at a time',
    odd: atATime('dry run'),
    plain: PLAIN_AT_A_TIME,
    duplicates: 'reject',
    keep: 0.8,
  },
  { what: '1 % repeats among all', others: { repeatEach: 100 }, keep: 0.9 },
  { what: '5 % repeats among all', others: { repeatEach: 20 }, keep: 0.6 },
];

async function databaseInFile(): Promise<string> {
  const url = `sqlite:${join(await mkdtemp(join(inject('temporaryFolder'), 'shared-statements-')), 'routes.db')}`;
  await migrate(url);
  return url;
}

/** The creates that the others complete per second beside one caller. */
async function othersBeside(
  service: ServiceProcess,
  odd: Odd | undefined,
  through: ServiceProcess,
  others: Odd,
): Promise<number> {
  const durationMs = 0.6 * scale.loadMs;
  const beside =
    odd === undefined
      ? undefined
      : runLoad(through, { connections: 1, durationMs, token: tokenFor({ sub: 'odd' }), ...odd });
  const { goodRate } = await runLoad(service, { ...OTHERS, durationMs, ...others });
  await beside;
  return goodRate;
}

it.each(
  [
    { engine: 'the embedded database', createDatabase: databaseInFile },
    { engine: 'a MySQL-protocol server', createDatabase: databaseOnMysql },
  ].flatMap((engine) => TROUBLES.map((trouble) => ({ ...engine, ...trouble }))),
)(
  'on $engine, $what leave the others at least $keep of the creates that plain calls leave',
  { ...needs('server'), retry: 2 },
  async ({ engine, createDatabase, what, odd, plain, through, duplicates, others = {}, keep }) => {
    const settings = { DATABASE_URL: await createDatabase(), DUPLICATE_ROUTES: duplicates ?? 'allow' };
    const service = await startProcess(settings);
    const instance = through === undefined ? service : await startProcess(settings);
    const rates = { plain: 0, odd: 0 };
    for (let round = 0; round < ROUNDS; round++) {
      rates.plain = Math.max(rates.plain, await othersBeside(service, plain, instance, {}));
      rates.odd = Math.max(rates.odd, await othersBeside(service, odd, instance, others));
    }
    const kept = rates.odd / rates.plain;
    figure(`${what}, on ${engine}`, {
      'creates/s beside plain calls': rates.plain,
      'beside these': rates.odd,
      kept,
    });
    expect(kept, JSON.stringify(rates)).toBeGreaterThanOrEqual(keep);
  },
);
