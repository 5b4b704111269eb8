import { setTimeout as sleep } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { expect, it } from 'vitest';
import { needs } from '../support/needs.js';
import { DEFAULT_WINDOW } from '../support/http2-frames.js';
import { figure } from './rig/figures.js';
import { runLoad, startProgram } from './rig/load-process.js';
import { scale } from './rig/scale.js';
import { type ServiceProcess, startOnMysql, startProcess } from './rig/service-process.js';

/** Shorter than the time after which the service resets a call that its client does not end. */
const EVERY_MS = 2_500;
const CREATES = 128;
/** The part of its creates that a busy connection keeps at least. */
const KEPT = 0.8;
const FEWEST_ROUNDS = 3;
const MOST_ROUNDS = 8;
const onFile = (): Promise<ServiceProcess> => startProcess({ DATABASE_URL: 'sqlite:routes.db' });

/** Runs a load while others are connected to the service. */
async function beside<T>(
  { grpc }: ServiceProcess,
  others: { readonly connections: number; readonly window: number },
  during: () => Promise<T>,
): Promise<T> {
  const neighbours = startProgram('neighbours', { target: grpc, everyMs: EVERY_MS, ...others });
  try {
    await neighbours.message('connected');
    // Each has made a check.
    await sleep(EVERY_MS);
    return await during();
  } finally {
    await neighbours.stop();
  }
}

/** One caller on one connection, which always has as many creates under way. */
function creates(service: ServiceProcess): ReturnType<typeof runLoad> {
  return runLoad(service, { connections: 1, callers: CREATES, durationMs: scale.loadMs });
}

it.each([
  [260, 'MySQL', startOnMysql],
  [1_000, 'MySQL', startOnMysql],
  [260, 'the embedded store', onFile],
] as const)(
  'beside %d connections that make a health check now and then, a busy one keeps four fifths of its creates, on %s',
  needs('server'),
  async (connections, engine, start) => {
    const service = await start();
    await creates(service);
    // The best of each, of as many rounds as it takes: whatever else runs on the machine only slows a round down.
    const measured = { 'alone/s': 0, 'beside them/s': 0, streams: Infinity, kept: 0, rounds: 0 };
    while (measured.rounds < FEWEST_ROUNDS || (measured.kept < KEPT && measured.rounds < MOST_ROUNDS)) {
      const alone = await creates(service);
      const among = await beside(service, { connections, window: DEFAULT_WINDOW }, () => creates(service));
      measured['alone/s'] = Math.max(measured['alone/s'], alone.goodRate);
      measured['beside them/s'] = Math.max(measured['beside them/s'], among.goodRate);
      measured.streams = Math.min(measured.streams, among.streams);
      measured.kept = measured['beside them/s'] / measured['alone/s'];
      measured.rounds += 1;
    }
    figure(`creates beside ${connections} quiet connections on ${engine}`, measured);
    const says = JSON.stringify(measured);
    expect.soft(measured.streams, says).toBe(CREATES);
    expect.soft(measured.kept, says).toBeGreaterThanOrEqual(KEPT);
  },
);

it(
  'beside 260 connections that take no response but ask now and then, a busy one keeps at least 32 streams',
  needs('server'),
  async () => {
    const service = await startOnMysql();
    await creates(service);
    const alone = await creates(service);
    const among = await beside(service, { connections: 260, window: 0 }, () => creates(service));
    const measured = {
      'alone/s': alone.goodRate,
      'beside them/s': among.goodRate,
      streams: among.streams,
      ends: JSON.stringify(among.ends),
    };
    figure('creates beside 260 connections that take nothing', measured);
    const says = JSON.stringify(measured);
    expect.soft(among.streams, says).toBeGreaterThanOrEqual(32);
    expect.soft(among.ends, says).toEqual({ [status.OK]: among.sent });
  },
);
