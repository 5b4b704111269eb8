import { setTimeout as sleep } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { expect, it } from 'vitest';
import { STREAM_REFUSED } from '../../bench/load/grpc-connection.js';
import { needs } from '../support/needs.js';
import type { Load } from './programs/load-messages.js';
import { answersAgainMs } from './rig/answers-again.js';
import { Callers, summary } from './rig/callers.js';
import { figure } from './rig/figures.js';
import { ledgerOf, storedNumbers } from './rig/ledger.js';
import { peakMib, runLoad } from './rig/load-process.js';
import { scale } from './rig/scale.js';
import { databaseOnMysql, startProcess } from './rig/service-process.js';

/** The most memory that an overloaded service may take, in MiB. */
const MEMORY_MIB = 512;
/** More calls under way than the service lets wait, as connections or as streams. */
const CONNECTIONS = 1_024;
const CALLS = 8_192;
/** How long after its end an overload may slow calls down, in milliseconds. */
const USUAL_AGAIN_MS = 2_000;

interface Overload {
  readonly kind: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly load: Partial<Load>;
  /** The statuses that calls must end with, each at least once. */
  readonly ends: readonly number[];
}

const SERVED = [status.OK, status.RESOURCE_EXHAUSTED];
/** Node ends a connection after 1,000 refused streams, perhaps before any of its calls has succeeded. */
const HEEDLESS = { load: { connections: 64, heedless: true }, ends: [STREAM_REFUSED] };
const OVERLOADS: readonly Overload[] = [
  {
    kind: `${CONNECTIONS} connections`,
    settings: {},
    load: { connections: CONNECTIONS },
    ends: SERVED,
  },
  {
    kind: '64 connections that ignore HTTP/2 settings, with a heap of 512 MiB',
    settings: { NODE_OPTIONS: '--max-old-space-size=512' },
    ...HEEDLESS,
  },
];

it.each(OVERLOADS.map((overload) => [overload.kind, overload] as const))(
  'creates over %s: the excess is refused, no acknowledged create is lost, and memory stays bounded',
  needs('server'),
  async (kind, { settings, load: overload, ends }) => {
    const url = await databaseOnMysql();
    const service = await startProcess({ DATABASE_URL: url, ...settings });
    const load = { connections: 0, callers: CALLS, durationMs: scale.loadMs, ...overload };
    const { result, mib } = await peakMib(service.pid, runLoad(service, load));
    const again = await answersAgainMs(service);
    const stored = await storedNumbers(url);
    const statuses = [...Buffer.from(result.statuses, 'base64')];
    const storedWith = (...codes: number[]): number =>
      statuses.filter((code, i) => codes.includes(code) && stored.has(result.first + i)).length;
    const good = result.ends[status.OK] ?? 0;
    const measured = {
      good,
      'p99 of good ms': result.goodP99Ms,
      'p99 of refused ms': result.refusedP99Ms,
      'acknowledged and lost': good - storedWith(status.OK),
      'refused but stored': storedWith(status.RESOURCE_EXHAUSTED, STREAM_REFUSED),
      'RSS MiB': mib,
      'usual again ms': again,
      ends: JSON.stringify(result.ends),
    };
    figure(`creates over ${kind}`, measured);
    const says = JSON.stringify(measured);
    expect.soft(Object.keys(result.ends), says).toEqual(expect.arrayContaining(ends.map(String)));
    expect.soft(measured['acknowledged and lost'], says).toBe(0);
    expect.soft(measured['refused but stored'], says).toBe(0);
    expect.soft(mib, says).toBeLessThan(MEMORY_MIB);
    expect.soft(again, says).toBeLessThan(USUAL_AGAIN_MS);
  },
);

it(
  `creates over REST by ${CONNECTIONS} callers: the excess gets 429, no acknowledged create is lost, and memory stays bounded`,
  needs('server'),
  async () => {
    const url = await databaseOnMysql();
    const service = await startProcess({ DATABASE_URL: url });
    const callers = new Callers({ ...service, each: CONNECTIONS, pauseMs: 0 });
    const { mib } = await peakMib(service.pid, sleep(scale.loadMs));
    const creates = (await callers.stop()).filter(({ protocol }) => protocol === 'rest');
    const { good, bad } = summary(creates);
    const ledger = await ledgerOf(url, creates);
    const measured = { good, ...ledger, 'RSS MiB': mib, bad: JSON.stringify(bad) };
    figure(`creates over REST by ${CONNECTIONS} callers`, measured);
    const says = JSON.stringify(measured);
    expect.soft(good, says).toBeGreaterThan(0);
    expect.soft(bad['429'] ?? 0, says).toBeGreaterThan(0);
    expect.soft(bad, says).not.toHaveProperty(['429 without Retry-After']);
    expect.soft(ledger, says).toMatchObject({ lost: 0, doubled: 0 });
    expect.soft(mib, says).toBeLessThan(MEMORY_MIB);
  },
);
