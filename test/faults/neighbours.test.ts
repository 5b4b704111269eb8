import { setTimeout as sleep } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { expect, it } from 'vitest';
import { needs } from '../support/needs.js';
import { DEFAULT_WINDOW } from '../support/http2-frames.js';
import { figure } from './rig/figures.js';
import { shareOf } from './rig/kept.js';
import { runLoad, startProgram } from './rig/load-process.js';
import { scale } from './rig/scale.js';
import { type ServiceProcess, startOnMysql } from './rig/service-process.js';

/** Shorter than the time after which the service resets a call that its client does not end. */
const EVERY_MS = 2_500;
const CREATES = 128;
/** The part of its creates that a busy connection keeps at least. */
const KEPT = 0.8;
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

it(
  'beside 1,000 connections that make a health check now and then, a busy one keeps four fifths of its creates',
  { ...needs('server'), timeout: 240_000 },
  async () => {
    const service = await startOnMysql();
    await creates(service);
    let streams = Infinity;
    const { kept, plain, odd } = await shareOf(
      KEPT,
      async () => (await creates(service)).goodRate,
      async () => {
        const others = { connections: 1_000, window: DEFAULT_WINDOW };
        const among = await beside(service, others, () => creates(service));
        streams = Math.min(streams, among.leastStreamLimit);
        return among.goodRate;
      },
    );
    const measured = {
      kept,
      'alone/s': Math.max(...plain),
      'beside them/s': Math.max(...odd),
      streams,
      rounds: plain.length,
    };
    figure('creates beside 1,000 quiet connections', measured);
    const says = JSON.stringify(measured);
    expect.soft(streams, says).toBe(CREATES);
    expect.soft(kept, says).toBeGreaterThanOrEqual(KEPT);
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
      streams: among.leastStreamLimit,
      ends: JSON.stringify(among.ends),
    };
    figure('creates beside 260 connections that take nothing', measured);
    const says = JSON.stringify(measured);
    expect.soft(among.leastStreamLimit, says).toBeGreaterThanOrEqual(32);
    expect.soft(among.ends, says).toEqual({ [status.OK]: among.sent });
  },
);
