import { performance } from 'node:perf_hooks';
import type { ObservedStatement, StatementObserver } from '../store/statement-observer.js';
import type { MetricSet, Observe } from './metric-set.js';
import { METRICS } from './metric-table.js';

/** Measures the statements that serve calls. */
export class StatementMetrics implements StatementObserver {
  readonly #size: Readonly<Record<ObservedStatement['operation'], Observe>>;
  readonly #seconds: (...labels: string[]) => Observe;
  /** The histograms of statements, by kind. */
  readonly #known = new Map<string, Observe>();
  readonly #retries = { INSERT: 0, SELECT: 0 };
  #fallbacks = 0;

  constructor(metrics: MetricSet) {
    const size = metrics.histogram(METRICS.batchSize);
    this.#size = { INSERT: size('INSERT'), SELECT: size('SELECT') };
    this.#seconds = metrics.histogram(METRICS.statementSeconds);
    metrics.read(METRICS.statementRetries, () =>
      Object.entries(this.#retries).map(([operation, value]) => ({ labels: { operation }, value })),
    );
    metrics.read(METRICS.replicaFallbacks, () => [{ value: this.#fallbacks }]);
  }

  begin({ operation, server, batchSize, attempt, fallback }: ObservedStatement): () => void {
    this.#size[operation](batchSize);
    if (attempt > 1) this.#retries[operation]++;
    if (fallback) this.#fallbacks++;
    const observe = this.#observerOf(operation, server);
    const begunAt = performance.now();
    return () => {
      observe((performance.now() - begunAt) / 1_000);
    };
  }

  #observerOf(operation: string, server: string): Observe {
    const kind = `${operation} ${server}`;
    const known = this.#known.get(kind) ?? this.#seconds(operation, server);
    this.#known.set(kind, known);
    return known;
  }
}
