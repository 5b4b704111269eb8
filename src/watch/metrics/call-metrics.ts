import { performance } from 'node:perf_hooks';
import type { Reply } from '../../calls/call.js';
import type { CallContext, Interceptor } from '../../calls/pipeline.js';
import type { MetricSet, Observe, Sample } from './metric-set.js';
import { METRICS } from './metric-table.js';
import type { CountRefusal } from './refusals.js';

/** The paths of methods by type, as go-grpc-middleware names it. */
export type MethodPaths = Readonly<Record<'unary' | 'server_stream' | 'bidi_stream', readonly string[]>>;

/** The gRPC codes in numerical order, by their names in Go. */
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
/** The label of every method that does not exist. */
const UNKNOWN = 'unknown';

/** The calls of one method. */
class CountedMethod {
  readonly labels: Readonly<Record<string, string>>;
  readonly ended = CODE_NAMES.map(() => 0);
  readonly observe: Observe;
  started = 0;
  active = 0;

  constructor(labels: Readonly<Record<string, string>>, observe: Observe) {
    this.labels = labels;
    this.observe = observe;
  }

  begin(): void {
    this.started++;
    this.active++;
  }

  end(begunAt: number, code: number): void {
    this.active--;
    this.ended[code] = (this.ended[code] ?? 0) + 1;
    this.observe((performance.now() - begunAt) / 1_000);
  }
}

/** Measures the calls over gRPC. */
export class CallMetrics {
  readonly #methods: ReadonlyMap<string, CountedMethod>;
  readonly #unknown: CountedMethod;
  readonly #countRefusal: CountRefusal;

  /** @param paths the methods of each type, which all begin at zero */
  constructor(metrics: MetricSet, paths: MethodPaths, countRefusal: CountRefusal) {
    const seconds = metrics.histogram(METRICS.callSeconds);
    const counted = (grpc_type: string, grpc_service: string, grpc_method: string): CountedMethod =>
      new CountedMethod(
        { grpc_type, grpc_service, grpc_method },
        seconds(grpc_type, grpc_service, grpc_method),
      );
    this.#countRefusal = countRefusal;
    this.#unknown = counted(UNKNOWN, UNKNOWN, UNKNOWN);
    this.#methods = new Map(
      Object.entries(paths).flatMap(([type, ofType]) =>
        ofType.map((path) => {
          const [, service = '', method = ''] = path.split('/');
          return [path, counted(type, service, method)] as const;
        }),
      ),
    );
    const all = [...this.#methods.values(), this.#unknown];
    metrics.read(METRICS.callsStarted, () => all.map(({ labels, started }) => ({ labels, value: started })));
    metrics.read(METRICS.activeCalls, () => all.map(({ labels, active }) => ({ labels, value: active })));
    metrics.read(METRICS.callsHandled, () => all.flatMap(handled));
  }

  /** Observes the calls of the pipeline. A question to the guard is counted only if it is refused. */
  readonly interceptor: Interceptor = (context, next) => {
    const method = this.#methodOf(context.call.path);
    const begunAt = performance.now();
    if (!context.asksGuard) method.begin();
    const reply = next(context);
    if (reply instanceof Promise) return reply.then((later) => this.#end(context, method, begunAt, later));
    return this.#end(context, method, begunAt, reply);
  };

  /** Observes a streaming call. @returns called once, with its code, and with the reason if it was refused */
  readonly beginStreaming = (path: string): ((code: number, reason?: string) => void) => {
    const method = this.#methodOf(path);
    const begunAt = performance.now();
    method.begin();
    return (code, reason) => {
      method.end(begunAt, code);
      if (reason !== undefined) this.#countRefusal(reason);
    };
  };

  #methodOf(path: string): CountedMethod {
    return this.#methods.get(path) ?? this.#unknown;
  }

  #end(context: CallContext, method: CountedMethod, begunAt: number, reply: Reply): Reply {
    const { code }: { code: number } = reply;
    if (context.asksGuard) {
      if (code === OK) return reply;
      method.begin();
    }
    method.end(begunAt, code);
    if (code !== OK) this.#countRefusal(context.reason);
    return reply;
  }
}

function handled({ labels, ended }: CountedMethod): Sample[] {
  return CODE_NAMES.map((grpc_code, code) => ({ labels: { ...labels, grpc_code }, value: ended[code] ?? 0 }));
}
