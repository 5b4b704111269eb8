import { AggregatorRegistry, type MetricValue, Registry } from 'prom-client';
import { type MetricDescription, METRICS } from './metric-table.js';

/** A metric as data, which JSON can carry. */
interface Metric {
  readonly name: string;
  readonly help: string;
  /** `counter`, `histogram` or `gauge`; the types of prom-client name a number that it never has. */
  readonly type: unknown;
  readonly aggregator: string;
  readonly values: readonly MetricValue<string>[];
}

/** The metrics of a process as data. */
export type Snapshot = readonly Metric[];

/** A process that measures something for the worker with this number. */
export interface MeasuredProcess {
  readonly number: number;
}

/**
 * The metrics of all workers as one, with a label `worker`. What a process has counted stays in the sums of its
 * successors, so that none of them falls. Of two processes of the same worker, the later one has the gauges; a worker
 * without a process is not ready.
 */
export class MergedMetrics {
  readonly contentType = Registry.PROMETHEUS_CONTENT_TYPE;
  /** What each process was last known to have measured. */
  readonly #latest = new Map<MeasuredProcess, Snapshot>();
  /** What is left of all processes that have ended. */
  #left: Snapshot;
  #ending = Promise.resolve();

  /** @param numbers of the workers */
  constructor(numbers: readonly number[]) {
    this.#left = [METRICS.ready, METRICS.draining].map((metric) => zero(metric, numbers));
  }

  /** Takes what a process has measured so far. */
  update(process: MeasuredProcess, snapshot: Snapshot): void {
    this.#latest.set(process, labelled(snapshot, process.number));
  }

  /** Keeps the sums of a process, and nothing else of it. One after the other, since they are added up. */
  end(process: MeasuredProcess): Promise<void> {
    this.#ending = this.#ending.then(async () => {
      const sums = (this.#latest.get(process) ?? []).filter(grows);
      this.#left = await merged([this.#left, sums]).getMetricsAsJSON();
      this.#latest.delete(process);
    });
    return this.#ending;
  }

  /** Everything in the text format of Prometheus. */
  text(): Promise<string> {
    const later = new Map([...this.#latest.keys()].map((process) => [process.number, process]));
    const shown = [...this.#latest].map(([process, snapshot]) =>
      later.get(process.number) === process ? snapshot : snapshot.filter(grows),
    );
    return merged([this.#left, ...shown]).metrics();
  }
}

/** Adds up values that agree in everything but their process. */
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
