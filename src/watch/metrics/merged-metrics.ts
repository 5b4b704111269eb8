import { AggregatorRegistry, type MetricValue, Registry } from 'prom-client';
import { METRICS } from './metric-table.js';

/** A metric as data that JSON can represent. */
interface Metric {
  readonly name: string;
  readonly help: string;
  /** `counter`, `histogram` or `gauge`; the types of prom-client declare a number, which it never has. */
  readonly type: unknown;
  readonly aggregator: string;
  readonly values: readonly MetricValue<string>[];
}

/** The metrics of a process as data. */
export type Snapshot = readonly Metric[];

/** The content type of merged metrics. */
export const CONTENT_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;

/** All that is known of a worker that says nothing. */
const SILENT: Snapshot = [{ ...METRICS.ready, aggregator: 'sum', values: [{ labels: {}, value: 0 }] }];

/**
 * The metrics of all workers in the text format of Prometheus, with a label `worker`.
 *
 * @param snapshots by the workers' numbers; a worker without one is not ready
 */
export function mergedMetrics(snapshots: ReadonlyMap<number, Snapshot | undefined>): Promise<string> {
  const labelled = Array.from(snapshots, ([number, snapshot = SILENT]) =>
    snapshot.map((metric) => ({
      ...metric,
      // Each value is one worker's own; prom-client would leave some metrics out.
      aggregator: 'sum',
      values: metric.values.map((value) => ({
        ...value,
        labels: { ...value.labels, worker: String(number) },
      })),
    })),
  );
  return AggregatorRegistry.aggregate(labelled).metrics();
}
