import { performance } from 'node:perf_hooks';
import {
  failures,
  type RequestObservation,
  type RequestObserver,
  type RequestOutcome,
} from '@route-registry/transcoder';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { CallContext, Interceptor, Reply } from '../../calls/call.js';
import { FAILURES } from '../../calls/failures.js';
import type { DatabaseError } from '../../store/driver-errors.js';
import type { ObservedStatement, StatementObserver } from '../../store/statement-observers.js';

/** The histogram buckets for durations, in seconds: from a response served from memory to the default deadline. */
const SECONDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5];

/** Counts a refusal by its reason. */
type CountRefusal = (reason: string | undefined) => void;

/** The reasons that the gRPC server and the REST gateway may give. */
const REASONS = {
  grpc: new Set<string>(Object.keys(FAILURES)),
  rest: new Set([...Object.keys(FAILURES), ...Object.keys(failures), 'UPSTREAM_UNAVAILABLE']),
};
/** The label of any other reason, which only another version of the gRPC server can give. */
const OTHER = 'other';

/** Counts refused and failed calls and requests, by reason. */
export class RefusalCounter {
  readonly #refusals: Counter<'protocol' | 'reason'>;

  constructor(registry: Registry) {
    const help = 'Calls and requests that were refused or failed, by the reason in the error.';
    const registers = [registry];
    const labelNames = ['protocol', 'reason'] as const;
    this.#refusals = new Counter({ name: 'route_registry_refusals_total', help, labelNames, registers });
  }

  /** Returns the counter for one protocol, with every reason starting at zero. */
  of(protocol: 'grpc' | 'rest'): CountRefusal {
    const reasons = REASONS[protocol];
    for (const reason of [...reasons, OTHER]) this.#refusals.inc({ protocol, reason }, 0);
    return (reason = OTHER) => {
      this.#refusals.inc({ protocol, reason: reasons.has(reason) ? reason : OTHER });
    };
  }
}

/** The paths of methods by type; go-grpc-middleware uses the same names for the types. */
export type MethodPaths = Readonly<Record<'unary' | 'server_stream' | 'bidi_stream', readonly string[]>>;

type Labels = Readonly<Record<'grpc_type' | 'grpc_service' | 'grpc_method', string>>;

/** The names of the gRPC codes in Go, in numerical order. */
const CODE_NAMES = [
  'OK',
  'Canceled',
  'Unknown',
  'InvalidArgument',
  'DeadlineExceeded',
  'NotFound',
  'AlreadyExists',
  'PermissionDenied',
  'ResourceExhausted',
  'FailedPrecondition',
  'Aborted',
  'OutOfRange',
  'Unimplemented',
  'Internal',
  'Unavailable',
  'DataLoss',
  'Unauthenticated',
] as const;
const OK = 0;
/** The labels shared by all methods that do not exist. */
const UNKNOWN: Labels = { grpc_type: 'unknown', grpc_service: 'unknown', grpc_method: 'unknown' };
const LABELS = ['grpc_type', 'grpc_service', 'grpc_method'] as const;

/** Measures gRPC calls. Names and labels are those of go-grpc-middleware. */
export class CallMetrics {
  readonly #methods: ReadonlyMap<string, Labels>;
  readonly #countRefusal: CountRefusal;
  readonly #started: Counter<keyof Labels>;
  readonly #active: Gauge<keyof Labels>;
  readonly #handled: Counter<keyof Labels | 'grpc_code'>;
  readonly #seconds: Histogram<keyof Labels>;
  readonly #guardPassed: Counter;

  /** @param paths the methods of each type, whose metrics all start at zero */
  constructor(registry: Registry, paths: MethodPaths, countRefusal: CountRefusal) {
    this.#countRefusal = countRefusal;
    this.#methods = new Map(
      Object.entries(paths).flatMap(([grpc_type, ofType]) =>
        ofType.map((path) => {
          const [, grpc_service = '', grpc_method = ''] = path.split('/');
          return [path, { grpc_type, grpc_service, grpc_method }] as const;
        }),
      ),
    );

    const rest = { labelNames: LABELS, registers: [registry] };
    const started = 'Calls that have come over gRPC.';
    this.#started = new Counter({ name: 'grpc_server_started_total', help: started, ...rest });
    const active = 'Calls over gRPC that are under way.';
    this.#active = new Gauge({ name: 'grpc_server_active_calls', help: active, ...rest });
    const handled = 'Calls over gRPC that have ended, whatever their code.';
    const labelNames = [...LABELS, 'grpc_code'] as const;
    this.#handled = new Counter({ name: 'grpc_server_handled_total', help: handled, ...rest, labelNames });
    this.#seconds = new Histogram({
      name: 'grpc_server_handling_seconds',
      help: 'Time from the complete request of a call over gRPC to its answer, in seconds.',
      buckets: SECONDS,
      ...rest,
    });
    this.#guardPassed = new Counter({
      name: 'route_registry_guard_passed_total',
      help: 'Auth-only calls that the guard has admitted; they end with the code Aborted.',
      registers: [registry],
    });

    for (const labels of [...this.#methods.values(), UNKNOWN]) {
      this.#started.inc(labels, 0);
      this.#active.set(labels, 0);
      for (const grpc_code of CODE_NAMES) this.#handled.inc({ ...labels, grpc_code }, 0);
      this.#seconds.zero(labels);
    }
  }

  /** Observes the calls of the pipeline. */
  readonly interceptor: Interceptor = (context, next) => {
    const labels = this.#labelsOf(context.call.path);
    const begunAt = performance.now();
    this.#begin(labels);
    const reply = next(context);
    if (reply instanceof Promise) return reply.then((later) => this.#endOf(context, labels, begunAt, later));
    return this.#endOf(context, labels, begunAt, reply);
  };

  /**
   * Observes a streaming call.
   *
   * @returns a function that must be called once, with the call's code, and with the reason if the call was refused
   */
  readonly beginStreaming = (path: string): ((code: number, reason?: string) => void) => {
    const labels = this.#labelsOf(path);
    const begunAt = performance.now();
    this.#begin(labels);
    return (code, reason) => {
      this.#end(labels, begunAt, code);
      if (reason !== undefined) this.#countRefusal(reason);
    };
  };

  #labelsOf(path: string): Labels {
    return this.#methods.get(path) ?? UNKNOWN;
  }

  #begin(labels: Labels): void {
    this.#started.inc(labels);
    this.#active.inc(labels);
  }

  #end(labels: Labels, begunAt: number, code: number): void {
    const { grpc_type, grpc_service, grpc_method } = labels;
    this.#active.dec(labels);
    this.#handled.inc({ grpc_type, grpc_service, grpc_method, grpc_code: CODE_NAMES[code] ?? 'Unknown' });
    this.#seconds.observe(labels, (performance.now() - begunAt) / 1_000);
  }

  #endOf(context: CallContext, labels: Labels, begunAt: number, reply: Reply): Reply {
    const { code }: { code: number } = reply;
    this.#end(labels, begunAt, code);
    if (context.reason === 'GUARD_PASSED') this.#guardPassed.inc();
    else if (code !== OK) this.#countRefusal(context.reason);
    return reply;
  }
}

/** The HTTP methods with a label of their own. */
const VERBS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
const OTHER_VERB = 'other';
const UNKNOWN_ROUTE = 'unknown';
/** The status for a client that disconnected before the response, as in nginx. */
const CLIENT_GONE = 499;

/** Measures REST requests. Names and labels follow OpenTelemetry's semantic conventions for HTTP. */
export class RequestMetrics implements RequestObserver {
  readonly #countRefusal: CountRefusal;
  readonly #active: Gauge;
  readonly #seconds: Histogram;

  constructor(registry: Registry, countRefusal: CountRefusal) {
    this.#countRefusal = countRefusal;
    this.#active = new Gauge({
      name: 'http_server_active_requests',
      help: 'REST requests that are under way.',
      registers: [registry],
    });
    this.#seconds = new Histogram({
      name: 'http_server_request_duration_seconds',
      help: 'Time from the head of a REST request to its answer, in seconds.',
      labelNames: ['http_request_method', 'http_route', 'http_response_status_code'],
      buckets: SECONDS,
      registers: [registry],
    });
  }

  begin({ method }: { readonly method: string }): RequestObservation {
    this.#active.inc();
    const verb = VERBS.has(method) ? method : OTHER_VERB;
    const begunAt = performance.now();
    return {
      end: (outcome) => {
        this.#end(verb, (performance.now() - begunAt) / 1_000, outcome);
      },
    };
  }

  #end(verb: string, seconds: number, outcome: RequestOutcome): void {
    const { template = UNKNOWN_ROUTE, status = CLIENT_GONE, reason } = outcome;
    this.#active.dec();
    this.#seconds.observe(
      { http_request_method: verb, http_route: template, http_response_status_code: status },
      seconds,
    );
    if (status === CLIENT_GONE) this.#countRefusal('CANCELLED');
    else if (reason !== undefined) this.#countRefusal(reason);
  }
}

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
    const rest = { labelNames: ['operation'], registers: [registry] };
    this.#batchSize = new Histogram({
      name: 'route_registry_statement_batch_size',
      help: 'Calls that one statement serves.',
      buckets: BATCH_SIZES,
      ...rest,
    });
    this.#seconds = new Histogram({
      name: 'route_registry_statement_duration_seconds',
      help: 'Time from sending a statement to its end, in seconds.',
      buckets: SECONDS,
      ...rest,
    });
    this.#failures = new Counter({
      ...rest,
      name: 'route_registry_statement_failures_total',
      help: 'Statements that failed, each attempt, by the code of the database, its driver or a socket.',
      labelNames: ['operation', 'code'],
    });
    const retries = 'Statements that were sent again, such as after a deadlock or a failover.';
    this.#retries = new Counter({ name: 'route_registry_statement_retries_total', help: retries, ...rest });

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
