import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { MergedMetrics, type Snapshot } from '../../src/metrics/merged-metrics.js';

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

async function linesOf(metrics: MergedMetrics): Promise<string[]> {
  return (await metrics.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
}

it('each worker has its own values, by its number', async () => {
  const metrics = new MergedMetrics([1, 2]);
  metrics.update({ number: 1 }, await measured(3, 7));
  metrics.update({ number: 2 }, await measured(4, 8));
  const lines = await linesOf(metrics);
  expect(lines).toContain('calls_total{method="Get",worker="1"} 3');
  expect(lines).toContain('calls_total{method="Get",worker="2"} 4');
  expect(lines).toContain('open{worker="1"} 7');
  expect(lines).toContain('started{worker="2"} 8');
});

it('what processes have counted stays when they end, and their successors add to it; their gauges go', async () => {
  const metrics = new MergedMetrics([1]);
  const [first, second, third] = [{ number: 1 }, { number: 1 }, { number: 1 }];
  metrics.update(first, await measured(3, 7));
  metrics.update(second, await measured(2, 1));
  const ends = [metrics.end(first), metrics.end(second)];
  expect(await linesOf(metrics)).toContain('calls_total{method="Get",worker="1"} 5');
  await Promise.all(ends);
  expect(await linesOf(metrics)).toContain('calls_total{method="Get",worker="1"} 5');
  expect((await linesOf(metrics)).filter((line) => line.startsWith('open'))).toEqual([]);
  metrics.update(third, await measured(1, 5));
  const lines = await linesOf(metrics);
  expect(lines).toContain('calls_total{method="Get",worker="1"} 6');
  expect(lines).toContain('seconds_count{worker="1"} 6');
  expect(lines).toContain('seconds_bucket{le="2",worker="1"} 6');
  expect(lines).toContain('seconds_bucket{le="1",worker="1"} 0');
  expect(lines).toContain('open{worker="1"} 5');
});

it('while a process replaces another one, the sums are of both and the gauges its own', async () => {
  const metrics = new MergedMetrics([1]);
  metrics.update({ number: 1 }, await measured(3, 7));
  metrics.update({ number: 1 }, await measured(2, 1));
  const lines = await linesOf(metrics);
  expect(lines).toContain('calls_total{method="Get",worker="1"} 5');
  expect(lines).toContain('open{worker="1"} 1');
});

it('a process is counted once, however often it is heard', async () => {
  const metrics = new MergedMetrics([1]);
  const process = { number: 1 };
  metrics.update(process, await measured(3, 7));
  metrics.update(process, await measured(5, 7));
  expect(await linesOf(metrics)).toContain('calls_total{method="Get",worker="1"} 5');
});

it('a worker without a process is not ready', async () => {
  const lines = await linesOf(new MergedMetrics([1]));
  expect(lines).toEqual(['route_registry_ready{worker="1"} 0', 'route_registry_draining{worker="1"} 0']);
});
