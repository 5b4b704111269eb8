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

/** One value of a metric, with its labels. */
type Sample = readonly [labels: Readonly<Record<string, string>>, value: number];

let ofProcess: Registry | undefined;

/** The metrics of the process itself, shared by all services in it: prom-client never stops collecting them. */
function metricsOfProcess(): Registry {
  if (ofProcess === undefined) {
    ofProcess = new Registry();
    collectDefaultMetrics({ register: ofProcess });
  }
  return ofProcess;
}

/** The metrics of a process, for operators. Each group of metrics exists once its method has been called. */
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
  calls(paths: MethodPaths): CallMetrics {
    return new CallMetrics(this.#registry, paths, this.#refusals.of('grpc'));
  }

  /** Measures REST requests. */
  requests(): RequestMetrics {
    return new RequestMetrics(this.#registry, this.#refusals.of('rest'));
  }

  /** Measures the statements of the store. */
  statements(): StatementMetrics {
    return new StatementMetrics(this.#registry);
  }

  /** Adds the connections to the database. */
  pool(figures: () => PoolFigures): void {
    const connections = 'route_registry_database_connections';
    this.#add(Gauge, connections, 'Connections to the database, used or free.', ['state'], () => {
      const { used, free } = figures();
      return [[{ state: 'used' }, used] as const, [{ state: 'free' }, free] as const];
    });
    const waiters = 'route_registry_database_connection_waiters';
    this.#add(Gauge, waiters, 'Statements that wait for a free connection to the database.', [], () => [
      [{}, figures().waiting],
    ]);
  }

  /** Adds caches by name. Their figures are read at each scrape. */
  caches(caches: Readonly<Record<string, () => CacheFigures>>): void {
    const others = this.#caches.size;
    for (const [cache, figures] of Object.entries(caches)) this.#caches.set(cache, figures);
    if (others > 0) return;
    const samples = (figure: keyof CacheFigures) => (): Sample[] =>
      [...this.#caches].flatMap(([cache, figures]) => {
        const { [figure]: value } = figures();
        return value === undefined ? [] : [[{ cache }, value] as const];
      });
    const hits = 'Look-ups that a cache has answered.';
    this.#add(Counter, 'route_registry_cache_hits_total', hits, ['cache'], samples('hits'));
    const missed = 'Look-ups that a cache could not answer.';
    this.#add(Counter, 'route_registry_cache_misses_total', missed, ['cache'], samples('misses'));
    const held = 'Entries that a cache can answer from now.';
    this.#add(Gauge, 'route_registry_cache_entries', held, ['cache'], samples('entries'));
    const size = 'What the entries of a cache count, in bytes, for caches that know.';
    this.#add(Gauge, 'route_registry_cache_bytes', size, ['cache'], samples('bytes'));
  }

  /** Adds the numbers of log lines that were left out, by kind. */
  linesLeftOut(leftOut: Readonly<Record<string, number>>): void {
    const help =
      'Lines about refusals and causes that the log left out, since there were too many in a second.';
    this.#add(Counter, 'route_registry_log_lines_left_out_total', help, ['kind'], () =>
      Object.entries(leftOut).map(([kind, value]) => [{ kind }, value]),
    );
  }

  /** Adds the number of calls that a separate gateway has let run although their clients had left. */
  callsLeftRunning(count: () => number): void {
    const help = 'Calls of a separate gateway that ran to their end although their clients had left.';
    this.#add(Counter, 'route_registry_calls_left_running_total', help, [], () => [[{}, count()]]);
  }

  /** Adds the readiness of the process with its checks, and whether it is stopping. */
  readiness(readiness: Readiness): void {
    this.#add(Gauge, 'route_registry_ready', '1 while /readyz answers 200, else 0.', [], () => [
      [{}, Number(readiness.report.status === 'ready')],
    ]);
    this.#add(Gauge, 'route_registry_check_ok', '1 while a check of /readyz passes, else 0.', ['check'], () =>
      Object.entries(readiness.report.checks).map(([check, { ok }]) => [{ check }, Number(ok)]),
    );
    this.#add(Gauge, 'route_registry_draining', '1 from the signal to stop on, else 0.', [], () => [
      [{}, Number(readiness.draining)],
    ]);
  }

  /** Adds the age of the key set, in milliseconds. */
  keySet(ageMs: () => number): void {
    const help = 'How long ago the keys in use were fetched from JWT_JWKS_URL.';
    this.#add(Gauge, 'route_registry_jwks_age_seconds', help, [], () => [[{}, ageMs() / 1_000]]);
  }

  /** Adds the time in which the served certificate is valid, in any form that `Date.parse` reads. */
  certificate(validity: () => { readonly validFrom: string; readonly validTo: string } | undefined): void {
    const bounds = [
      ['not_before', 'validFrom', 'When the served certificate became valid.'],
      ['not_after', 'validTo', 'When the served certificate expires.'],
    ] as const;
    for (const [bound, member, help] of bounds)
      this.#add(Gauge, `route_registry_tls_certificate_${bound}_timestamp_seconds`, help, [], () => {
        const { [member]: time } = validity() ?? {};
        return time === undefined ? [] : [[{}, Date.parse(time) / 1_000]];
      });
  }

  schemaVersion(version: number): void {
    const help = 'The migrations that the schema of the database has, as many as this version needs.';
    this.#add(Gauge, 'route_registry_schema_version', help, [], () => [[{}, version]]);
  }

  buildInfo(labels: { readonly version: string; readonly role: string }): void {
    const help = 'Always 1; the labels say what runs.';
    this.#add(Gauge, 'route_registry_build_info', help, ['version', 'role'], () => [[labels, 1]]);
  }

  /** Adds a metric whose values are kept elsewhere and read at each scrape. */
  #add(
    Metric: typeof Gauge | typeof Counter,
    name: string,
    help: string,
    labelNames: readonly string[],
    samples: () => readonly Sample[],
  ): void {
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
}
