import { performance } from 'node:perf_hooks';
import { Counter, Histogram, type Registry } from 'prom-client';
import type { DatabaseError } from '../../store/driver-errors.js';
import type { ObservedStatement, StatementObserver } from '../../store/statements.js';
import { SECONDS } from './buckets.js';

const OPERATIONS = ['INSERT', 'SELECT'] as const;
/** Up to the largest number of calls that share a statement. */
const BATCH_SIZES = [1, 2, 4, 8, 16, 32, 64];

/** Measures the statements that serve calls. */
export class StatementMetrics implements StatementObserver {
  readonly #batchSize: Histogram;
  readonly #seconds: Histogram;
  readonly #failures: Counter;
  readonly #retries: Counter;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#batchSize = new Histogram({
      name: 'route_registry_statement_batch_size',
      help: 'Calls that one statement serves.',
      labelNames: ['operation'],
      buckets: BATCH_SIZES,
      registers,
    });
    this.#seconds = new Histogram({
      name: 'route_registry_statement_duration_seconds',
      help: 'Time from sending a statement to its end, in seconds.',
      labelNames: ['operation'],
      buckets: SECONDS,
      registers,
    });
    this.#failures = new Counter({
      name: 'route_registry_statement_failures_total',
      help: 'Statements that failed, each attempt, by the code of the database, its driver or a socket.',
      labelNames: ['operation', 'code'],
      registers,
    });
    this.#retries = new Counter({
      name: 'route_registry_statement_retries_total',
      help: 'Statements that were sent again, such as after a deadlock or a failover.',
      labelNames: ['operation'],
      registers,
    });
    for (const operation of OPERATIONS) {
      this.#batchSize.zero({ operation });
      this.#retries.inc({ operation }, 0);
    }
  }

  begin({ operation, batchSize, attempt }: ObservedStatement): (error?: unknown) => void {
    this.#batchSize.observe({ operation }, batchSize);
    if (attempt > 1) this.#retries.inc({ operation });
    const begunAt = performance.now();
    return (error) => {
      this.#seconds.observe({ operation }, (performance.now() - begunAt) / 1_000);
      if (error !== undefined) this.#failures.inc({ operation, code: codeOf(error) });
    };
  }
}

/** The code of the database's error, or its number, or `none`. The error may be the cause of the store's error. */
function codeOf(error: unknown): string {
  const { cause = error } = Object(error) as { readonly cause?: unknown };
  const { code, errno } = Object(cause) as Partial<DatabaseError>;
  return String(code ?? errno ?? 'none');
}
