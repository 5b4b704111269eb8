import { performance } from 'node:perf_hooks';
import type { DatabaseError } from '../../store/driver-errors.js';
import type { ObservedStatement, StatementObserver } from '../../store/statement-observer.js';
import type { MetricSet, Observe } from './metric-set.js';
import { METRICS } from './metric-table.js';

/** Measures the statements that serve calls. */
export class StatementMetrics implements StatementObserver {
  readonly #size: Readonly<Record<ObservedStatement['operation'], Observe>>;
  readonly #seconds: (...labels: string[]) => Observe;
  /** The histograms of statements, by kind. */
  readonly #known = new Map<string, Observe>();
  /** The failed statements, by kind and code. */
  readonly #failures = new Map<string, { readonly labels: Record<string, string>; value: number }>();
  readonly #retries = { INSERT: 0, SELECT: 0 };
  #fallbacks = 0;

  constructor(metrics: MetricSet) {
    const size = metrics.histogram(METRICS.batchSize);
    this.#size = { INSERT: size('INSERT'), SELECT: size('SELECT') };
    this.#seconds = metrics.histogram(METRICS.statementSeconds);
    metrics.read(METRICS.statementFailures, () => [...this.#failures.values()]);
    metrics.read(METRICS.statementRetries, () =>
      Object.entries(this.#retries).map(([operation, value]) => ({ labels: { operation }, value })),
    );
    metrics.read(METRICS.replicaFallbacks, () => [{ value: this.#fallbacks }]);
  }

  begin({ operation, server, batchSize, attempt, fallback }: ObservedStatement): (error?: unknown) => void {
    this.#size[operation](batchSize);
    if (attempt > 1) this.#retries[operation]++;
    if (fallback) this.#fallbacks++;
    const observe = this.#observerOf(operation, server);
    const begunAt = performance.now();
    return (error) => {
      observe((performance.now() - begunAt) / 1_000);
      if (error !== undefined) this.#countFailure(operation, server, codeOf(error));
    };
  }

  #countFailure(operation: string, server: string, code: string): void {
    const kind = `${operation} ${server} ${code}`;
    const known = this.#failures.get(kind) ?? { labels: { operation, server, code }, value: 0 };
    known.value++;
    this.#failures.set(kind, known);
  }

  #observerOf(operation: string, server: string): Observe {
    const kind = `${operation} ${server}`;
    const known = this.#known.get(kind) ?? this.#seconds(operation, server);
    this.#known.set(kind, known);
    return known;
  }
}

/** The code of the database's error, which may be the cause of the store's; else its number; else `none`. */
function codeOf(error: unknown): string {
  const { cause = error } = Object(error) as { readonly cause?: unknown };
  const { code, errno } = Object(cause) as Partial<DatabaseError>;
  return String(code ?? errno ?? 'none');
}
