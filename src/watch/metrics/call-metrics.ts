import { performance } from 'node:perf_hooks';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { CallContext, Interceptor, Reply } from '../../calls/call.js';
import { SECONDS } from './buckets.js';
import type { CountRefusal } from './refusal-counter.js';

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
    const registers = [registry];
    this.#started = new Counter({
      name: 'grpc_server_started_total',
      help: 'Calls that have come over gRPC.',
      labelNames: LABELS,
      registers,
    });
    this.#active = new Gauge({
      name: 'grpc_server_active_calls',
      help: 'Calls over gRPC that are under way.',
      labelNames: LABELS,
      registers,
    });
    this.#handled = new Counter({
      name: 'grpc_server_handled_total',
      help: 'Calls over gRPC that have ended, whatever their code.',
      labelNames: [...LABELS, 'grpc_code'],
      registers,
    });
    this.#seconds = new Histogram({
      name: 'grpc_server_handling_seconds',
      help: 'Time from the head of a call over gRPC to its answer, in seconds.',
      labelNames: LABELS,
      buckets: SECONDS,
      registers,
    });
    this.#guardPassed = new Counter({
      name: 'route_registry_guard_passed_total',
      help: 'Guard-only calls that the guard has admitted; they end with the code Aborted.',
      registers,
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
