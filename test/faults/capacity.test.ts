import { expect, it } from 'vitest';
import { needs } from '../support/needs.js';
import { figure } from './rig/figures.js';
import { runLoad } from './rig/load-process.js';
import { scale } from './rig/scale.js';
import { startOnMysql } from './rig/service-process.js';

it.each([8, 256])(
  'at three times its capacity of creates, over %d connections, the service completes four fifths of what it can',
  needs('server'),
  async (connections) => {
    const service = await startOnMysql();
    const load = { connections, durationMs: 2 * scale.loadMs } as const;
    await runLoad(service, { ...load, callers: 512 });
    const { goodRate: peak } = await runLoad(service, { ...load, callers: 512 });
    const { goodRate, ends, streams } = await runLoad(service, { ...load, rate: 3 * peak });
    const measured = {
      'peak/s': peak,
      'good/s': goodRate,
      kept: goodRate / peak,
      streams,
      ends: JSON.stringify(ends),
    };
    figure(`creates at 3 × peak over ${connections} connections`, measured);
    expect(measured.kept, JSON.stringify(measured)).toBeGreaterThanOrEqual(0.8);
  },
);
