import type { PoolFigures } from '../../store/pool-figures.js';
import { CallMetrics, type MethodPaths } from './call-metrics.js';
import type { Snapshot } from './merged-metrics.js';
import { MetricSet, type Sample } from './metric-set.js';
import { METRICS } from './metric-table.js';
import { Refusals } from './refusals.js';
import { RequestMetrics } from './request-metrics.js';
import { StatementMetrics } from './statement-metrics.js';

/** The usage of a cache. */
interface CacheFigures {
  readonly hits: number;
  readonly misses: number;
  readonly entries: number;
  /** Absent for a cache that does not know its size. */
  readonly bytes?: number;
}

/** The readiness of a process. */
interface Ready {
  readonly draining: boolean;
  readonly report: {
    readonly status: string;
    readonly checks: Readonly<Record<string, { readonly ok: boolean }>>;
  };
}

/** The measurements of a process, for operators. Each part exists once it is requested. */
export class Metrics {
  readonly #set = new MetricSet();
  readonly #refusals = new Refusals(this.#set);

  /** All metrics in the text format of Prometheus. */
  text(): Promise<string> {
    return this.#set.text();
  }

  /** All metrics as data. */
  snapshot(): Promise<Snapshot> {
    return this.#set.snapshot();
  }

  get contentType(): string {
    return this.#set.contentType;
  }

  /** Measures the calls over gRPC. */
  calls(paths: MethodPaths): CallMetrics {
    return new CallMetrics(this.#set, paths, this.#refusals.of('grpc'));
  }

  /** Measures the requests over REST. */
  requests(): RequestMetrics {
    return new RequestMetrics(this.#set, this.#refusals.of('rest'));
  }

  /** Measures the statements of the store. */
  statements(): StatementMetrics {
    return new StatementMetrics(this.#set);
  }

  /** Adds the connections to the database. */
  pool(figures: () => PoolFigures): void {
    this.#set.read(METRICS.connections, () => [
      { labels: { state: 'used' }, value: figures().used },
      { labels: { state: 'free' }, value: figures().free },
    ]);
    this.#set.read(METRICS.waitingForConnection, () => [{ value: figures().waiting }]);
  }

  /** Adds caches, by their names. Each figure is read when it is requested. */
  caches(caches: Readonly<Record<string, () => CacheFigures>>): void {
    const samples = (figure: keyof CacheFigures) => (): Sample[] =>
      Object.entries(caches).flatMap(([cache, figures]) => {
        const { [figure]: value } = figures();
        return value === undefined ? [] : [{ labels: { cache }, value }];
      });
    this.#set.read(METRICS.cacheHits, samples('hits'));
    this.#set.read(METRICS.cacheMisses, samples('misses'));
    this.#set.read(METRICS.cacheEntries, samples('entries'));
    this.#set.read(METRICS.cacheBytes, samples('bytes'));
  }

  /** Adds the log lines that were left out, by their kinds. */
  linesLeftOut(leftOut: Readonly<Record<string, number>>): void {
    this.#set.read(METRICS.logLinesLeftOut, () =>
      Object.entries(leftOut).map(([kind, value]) => ({ labels: { kind }, value })),
    );
  }

  /** Adds the readiness of the process with its checks, and whether it is stopping. */
  readiness(readiness: Ready): void {
    this.#set.read(METRICS.ready, () => [{ value: Number(readiness.report.status === 'ready') }]);
    this.#set.read(METRICS.checkOk, () =>
      Object.entries(readiness.report.checks).map(([check, { ok }]) => ({
        labels: { check },
        value: Number(ok),
      })),
    );
    this.#set.read(METRICS.draining, () => [{ value: Number(readiness.draining) }]);
  }

  schemaVersion(version: number): void {
    this.#set.read(METRICS.schemaVersion, () => [{ value: version }]);
  }

  buildInfo(labels: { readonly version: string; readonly role: string }): void {
    this.#set.read(METRICS.buildInfo, () => [{ labels, value: 1 }]);
  }
}
