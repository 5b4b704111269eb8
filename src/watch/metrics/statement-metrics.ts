import { performance } from 'node:perf_hooks';
import type { DatabaseError } from '../../store/driver-errors.js';
import type { ObservedStatement, StatementObserver } from '../../store/statement-observer.js';
import type { MetricSet, Observe } from './metric-set.js';
import { METRICS } from './metric-table.js';

/** Measures the statements that serve calls. */
export class StatementMetrics implements StatementObserver {
  readonly #size: Readonly<Record<ObservedStatement['operation'], Observe>>;
  readonly #seconds: Readonly<Record<ObservedStatement['operation'], Observe>>;
  /** The failed statements, by kind and code. */
  readonly #failures = new Map<string, { readonly labels: Record<string, string>; value: number }>();
  readonly #retries = { INSERT: 0, SELECT: 0 };

  constructor(metrics: MetricSet) {
    const size = metrics.histogram(METRICS.batchSize);
    this.#size = { INSERT: size('INSERT'), SELECT: size('SELECT') };
    const seconds = metrics.histogram(METRICS.statementSeconds);
    this.#seconds = { INSERT: seconds('INSERT'), SELECT: seconds('SELECT') };
    metrics.read(METRICS.statementFailures, () => [...this.#failures.values()]);
    metrics.read(METRICS.statementRetries, () =>
      Object.entries(this.#retries).map(([operation, value]) => ({ labels: { operation }, value })),
    );
  }

  begin({ operation, batchSize, attempt }: ObservedStatement): (error?: unknown) => void {
    this.#size[operation](batchSize);
    if (attempt > 1) this.#retries[operation]++;
    const begunAt = performance.now();
    return (error) => {
      this.#seconds[operation]((performance.now() - begunAt) / 1_000);
      if (error !== undefined) this.#countFailure(operation, codeOf(error));
    };
  }

  #countFailure(operation: string, code: string): void {
    const kind = `${operation} ${code}`;
    const known = this.#failures.get(kind) ?? { labels: { operation, code }, value: 0 };
    known.value++;
    this.#failures.set(kind, known);
  }
}

/** The code of the database's error, which may be the cause of the store's; else its number; else `none`. */
function codeOf(error: unknown): string {
  const { cause = error } = Object(error) as { readonly cause?: unknown };
  const { code, errno } = Object(cause) as Partial<DatabaseError>;
  return String(code ?? errno ?? 'none');
}
