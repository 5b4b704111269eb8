import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { mergedMetrics, type Snapshot } from '../../../src/watch/metrics/merged-metrics.js';

/** The metrics of a process, as they come over JSON. */
async function measured(calls: number, open: number): Promise<Snapshot> {
  const registry = new Registry();
  const registers = [registry];
  new Counter({ name: 'calls_total', help: 'h', labelNames: ['method'], registers }).inc(
    { method: 'Get' },
    calls,
  );
  new Gauge({ name: 'open', help: 'h', registers }).set(open);
  // One that prom-client itself would not merge.
  new Gauge({ name: 'started', help: 'h', aggregator: 'omit', registers }).set(open);
  const seconds = new Histogram({ name: 'seconds', help: 'h', buckets: [1, 2], registers });
  for (let i = 0; i < calls; i++) seconds.observe(1.5);
  return JSON.parse(JSON.stringify(await registry.getMetricsAsJSON())) as Snapshot;
}

it('each worker has its own values, by its number', async () => {
  const snapshots = [await measured(3, 7), await measured(4, 8)] as const;
  const lines = (
    await mergedMetrics(
      new Map([
        [1, snapshots[0]],
        [2, snapshots[1]],
      ]),
    )
  ).split('\n');
  expect(lines).toContain('calls_total{method="Get",worker="1"} 3');
  expect(lines).toContain('calls_total{method="Get",worker="2"} 4');
  expect(lines).toContain('open{worker="1"} 7');
  expect(lines).toContain('started{worker="2"} 8');
  expect(lines).toContain('seconds_bucket{le="1",worker="1"} 0');
  expect(lines).toContain('seconds_bucket{le="2",worker="1"} 3');
  expect(lines).toContain('seconds_count{worker="2"} 4');
});

it('a worker that says nothing is left out, and is not ready', async () => {
  const text = await mergedMetrics(
    new Map([
      [1, await measured(3, 7)],
      [2, undefined],
    ]),
  );
  const lines = text.split('\n').filter((line) => line.includes('worker="2"'));
  expect(lines).toEqual(['route_registry_ready{worker="2"} 0']);
  expect(text).toContain('# TYPE route_registry_ready gauge');
});
