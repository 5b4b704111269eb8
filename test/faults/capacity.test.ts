import { expect, it } from 'vitest';
import { needs } from '../support/needs.js';
import { figure } from './rig/figures.js';
import { shareOf } from './rig/kept.js';
import { runLoad } from './rig/load-process.js';
import { scale } from './rig/scale.js';
import { startOnMysql } from './rig/service-process.js';

/** The part of its best rate that the service completes at least. */
const COMPLETED = 0.8;

it.each([8, 256])(
  'at three times its capacity of creates, over %d connections, the service completes four fifths of what it can',
  { ...needs('server'), timeout: 180_000 },
  async (connections) => {
    const service = await startOnMysql();
    const load = { connections, durationMs: 2 * scale.loadMs } as const;
    const atPeak = async () => (await runLoad(service, { ...load, callers: 512 })).goodRate;
    await atPeak();
    let peak = 0;
    const { kept, plain, odd } = await shareOf(
      COMPLETED,
      async () => (peak = await atPeak()),
      async () => (await runLoad(service, { ...load, rate: 3 * peak })).goodRate,
    );
    const measured = {
      kept,
      'peak/s': Math.max(...plain),
      'good/s': Math.max(...odd),
      rounds: plain.length,
    };
    figure(`creates at 3 × peak over ${connections} connections`, measured);
    expect(kept, JSON.stringify(measured)).toBeGreaterThanOrEqual(COMPLETED);
  },
);
