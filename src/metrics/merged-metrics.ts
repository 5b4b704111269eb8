import { AggregatorRegistry, type MetricValue, Registry } from 'prom-client';
import { type MetricDescription, METRICS } from './metric-table.js';

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

/** A measured process of the worker with this number. */
export interface MeasuredProcess {
  readonly number: number;
}

/**
 * The metrics of all workers as one, with a label `worker`. A process's counts stay in the sums of its successors, so
 * that no sum decreases. If two processes of a worker overlap, the later one provides the gauges; a worker without a
 * process is not ready.
 */
export class MergedMetrics {
  readonly contentType = Registry.PROMETHEUS_CONTENT_TYPE;
  /** The latest known metrics of each process. */
  readonly #latest = new Map<MeasuredProcess, Snapshot>();
  /** The remaining metrics of all processes that have ended. */
  #left: Snapshot;
  #ending = Promise.resolve();

  /** @param numbers the workers' numbers */
  constructor(numbers: readonly number[]) {
    this.#left = [METRICS.ready, METRICS.draining].map((metric) => zero(metric, numbers));
  }

  /** Records the metrics of a process so far. */
  update(process: MeasuredProcess, snapshot: Snapshot): void {
    this.#latest.set(process, labelled(snapshot, process.number));
  }

  /** Keeps only the sums of a process. One process after the other, since they are added up. */
  end(process: MeasuredProcess): Promise<void> {
    this.#ending = this.#ending.then(async () => {
      const sums = (this.#latest.get(process) ?? []).filter(grows);
      this.#left = await merged([this.#left, sums]).getMetricsAsJSON();
      this.#latest.delete(process);
    });
    return this.#ending;
  }

  /** All metrics in the text format of Prometheus. */
  text(): Promise<string> {
    const later = new Map([...this.#latest.keys()].map((process) => [process.number, process]));
    const shown = [...this.#latest].map(([process, snapshot]) =>
      later.get(process.number) === process ? snapshot : snapshot.filter(grows),
    );
    return merged([this.#left, ...shown]).metrics();
  }
}

/** Adds up values that differ only in their process. */
function merged(snapshots: readonly Snapshot[]): Registry {
  return AggregatorRegistry.aggregate(snapshots.map((snapshot) => [...snapshot]));
}

function grows({ type }: Metric): boolean {
  return type === 'counter' || type === 'histogram';
}

function labelled(snapshot: Snapshot, number: number): Snapshot {
  const worker = String(number);
  return snapshot.map((metric) => {
    const values = metric.values.map((value) => ({ ...value, labels: { ...value.labels, worker } }));
    return { ...metric, aggregator: 'sum', values };
  });
}

function zero({ name, help }: MetricDescription, numbers: readonly number[]): Metric {
  const values = numbers.map((number) => ({ labels: { worker: String(number) }, value: 0 }));
  return { name, help, type: 'gauge', aggregator: 'sum', values };
}
