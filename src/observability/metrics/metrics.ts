import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import type { PoolFigures } from '../../store/pool.js';
import type { Readiness } from '../readiness.js';
import {
  CallMetrics,
  type MethodPaths,
  RefusalCounter,
  RequestMetrics,
  StatementMetrics,
} from './observers.js';

/** The usage of a cache. */
interface CacheFigures {
  readonly hits: number;
  readonly misses: number;
  readonly entries: number;
  /** Absent for a cache that does not track its size. */
  readonly bytes?: number;
}

const CACHE_METRICS = [
  {
    type: Counter,
    name: 'route_registry_cache_hits_total',
    help: 'Look-ups that a cache has answered.',
    figure: 'hits',
  },
  {
    type: Counter,
    name: 'route_registry_cache_misses_total',
    help: 'Look-ups that a cache could not answer.',
    figure: 'misses',
  },
  {
    type: Gauge,
    name: 'route_registry_cache_entries',
    help: 'Entries in a cache, including tokens that have expired since.',
    figure: 'entries',
  },
  {
    type: Gauge,
    name: 'route_registry_cache_bytes',
    help: 'Size of the entries of a cache in bytes, with their overhead; absent for a cache that does not track it.',
    figure: 'bytes',
  },
] as const;

/** One value of a metric, with its labels. */
type Sample = readonly [labels: Readonly<Record<string, string>>, value: number];

/** A metric whose values are kept elsewhere. */
interface ReadMetric {
  readonly name: string;
  readonly help: string;
  /** Default: none. */
  readonly labelNames?: readonly string[];
  /** Its current values. */
  readonly samples: () => readonly Sample[];
}

let ofProcess: Registry | undefined;

/** The metrics of the process itself, shared by all services in it: prom-client never stops collecting them. */
function metricsOfProcess(): Registry {
  if (ofProcess === undefined) {
    ofProcess = new Registry();
    collectDefaultMetrics({ register: ofProcess });
  }
  return ofProcess;
}

/**
 * The metrics of a process, for operators. Each group of metrics exists once its method has been called: `measure…` returns
 * what has to be told of each call, `add…` reads values that are kept elsewhere. Only `addCaches` may be called again.
 */
export class Metrics {
  readonly #registry = new Registry();
  readonly #refusals = new RefusalCounter(this.#registry);
  readonly #all = [this.#registry, metricsOfProcess()];
  readonly #caches = new Map<string, () => CacheFigures>();

  /** All metrics in the Prometheus text format, including those of the process itself. */
  text(): Promise<string> {
    return Registry.merge(this.#all).metrics();
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** Measures gRPC calls. */
  measureCalls(paths: MethodPaths): CallMetrics {
    return new CallMetrics(this.#registry, paths, this.#refusals.of('grpc'));
  }

  /** Measures REST requests. */
  measureRequests(): RequestMetrics {
    return new RequestMetrics(this.#registry, this.#refusals.of('rest'));
  }

  /** Measures the statements of the store. */
  measureStatements(): StatementMetrics {
    return new StatementMetrics(this.#registry);
  }

  /** Adds the connections to the database. */
  addPool(figures: () => PoolFigures): void {
    this.#add(Gauge, {
      name: 'route_registry_database_connections',
      help: 'Connections to the database, used or free.',
      labelNames: ['state'],
      samples: () => {
        const { used, free } = figures();
        return [
          [{ state: 'used' }, used],
          [{ state: 'free' }, free],
        ];
      },
    });
    this.#addValue(Gauge, {
      name: 'route_registry_database_connection_waiters',
      help: 'Statements that wait for a free connection to the database.',
      value: () => figures().waiting,
    });
  }

  /** Adds caches by name. May be called again, with other caches. */
  addCaches(caches: Readonly<Record<string, () => CacheFigures>>): void {
    const known = this.#caches.size > 0;
    for (const [cache, figures] of Object.entries(caches)) this.#caches.set(cache, figures);
    // The metrics exist already, and read all caches.
    if (known) return;

    const samplesOf = (figure: keyof CacheFigures): Sample[] =>
      [...this.#caches].flatMap(([cache, figures]) => {
        const { [figure]: value } = figures();
        return value === undefined ? [] : [[{ cache }, value] as const];
      });
    for (const { type, figure, ...named } of CACHE_METRICS)
      this.#add(type, { ...named, labelNames: ['cache'], samples: () => samplesOf(figure) });
  }

  /** Adds the numbers of log lines that were left out, by kind. */
  addLinesLeftOut(leftOut: Readonly<Record<string, number>>): void {
    this.#add(Counter, {
      name: 'route_registry_log_lines_left_out_total',
      help: 'Lines about refusals and causes that the log left out, since there were too many in a second.',
      labelNames: ['kind'],
      samples: () => Object.entries(leftOut).map(([kind, count]) => [{ kind }, count]),
    });
  }

  /** Adds the number of calls that a separate gateway has let run although their clients had left. */
  addCallsLeftRunning(count: () => number): void {
    this.#addValue(Counter, {
      name: 'route_registry_calls_left_running_total',
      help: 'Calls of a separate gateway that ran to their end although their clients had left.',
      value: count,
    });
  }

  /** Adds the readiness of the process with its checks, and whether it is stopping. */
  addReadiness(readiness: Readiness): void {
    this.#addValue(Gauge, {
      name: 'route_registry_ready',
      help: '1 while /readyz answers 200, else 0.',
      value: () => Number(readiness.report.status === 'ready'),
    });
    this.#add(Gauge, {
      name: 'route_registry_check_ok',
      help: '1 while a check of /readyz passes, else 0.',
      labelNames: ['check'],
      samples: () =>
        Object.entries(readiness.report.checks).map(([check, { ok }]) => [{ check }, Number(ok)]),
    });
    this.#addValue(Gauge, {
      name: 'route_registry_draining',
      help: '1 from the signal to stop on, else 0.',
      value: () => Number(readiness.draining),
    });
  }

  /** Adds the age of the key set, in milliseconds. */
  addKeySet(ageMs: () => number): void {
    this.#addValue(Gauge, {
      name: 'route_registry_jwks_age_seconds',
      help: 'How long ago the keys in use were fetched from JWT_JWKS_URL.',
      value: () => ageMs() / 1_000,
    });
  }

  /** Adds the time in which the served certificate is valid, in any form that `Date.parse` reads. */
  addCertificate(validity: () => { readonly validFrom: string; readonly validTo: string } | undefined): void {
    const samplesAt = (time: string | undefined): Sample[] =>
      time === undefined ? [] : [[{}, Date.parse(time) / 1_000]];

    this.#add(Gauge, {
      name: 'route_registry_tls_certificate_not_before_timestamp_seconds',
      help: 'When the served certificate became valid.',
      samples: () => samplesAt(validity()?.validFrom),
    });
    this.#add(Gauge, {
      name: 'route_registry_tls_certificate_not_after_timestamp_seconds',
      help: 'When the served certificate expires.',
      samples: () => samplesAt(validity()?.validTo),
    });
  }

  addSchemaVersion(version: number): void {
    this.#addValue(Gauge, {
      name: 'route_registry_schema_version',
      help: 'Number of migrations applied to the database, as many as this version needs.',
      value: () => version,
    });
  }

  addBuildInfo(labels: { readonly version: string; readonly role: string }): void {
    this.#add(Gauge, {
      name: 'route_registry_build_info',
      help: 'Always 1; the labels say what runs.',
      labelNames: ['version', 'role'],
      samples: () => [[labels, 1]],
    });
  }

  /** Adds a metric whose values are kept elsewhere and read at each scrape. */
  #add(Metric: typeof Gauge | typeof Counter, { name, help, labelNames = [], samples }: ReadMetric): void {
    const metric = new Metric({
      name,
      help,
      labelNames,
      registers: [this.#registry],
      collect() {
        metric.reset();
        for (const [labels, value] of samples()) metric.inc(labels, value);
      },
    });
  }

  /** Adds a metric of one value. */
  #addValue(
    Metric: typeof Gauge | typeof Counter,
    { value, ...named }: Pick<ReadMetric, 'name' | 'help'> & { readonly value: () => number },
  ): void {
    this.#add(Metric, { ...named, samples: () => [[{}, value()]] });
  }
}
