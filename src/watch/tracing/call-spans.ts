import type { AsyncLocalStorage } from 'node:async_hooks';
import { status } from '@grpc/grpc-js';
import { type SpanContext, SpanKind, SpanStatusCode, type Tracer } from '@opentelemetry/api';
import { loggable } from '../../calls/call-log.js';
import type { CallContext, CallMetadata, Interceptor, Reply } from '../../calls/call.js';
import { parentOf } from './trace-context.js';

/** The codes of server errors (semantic conventions, gRPC server spans, `rpc.response.status_code`). */
const SERVER_FAULTS: ReadonlySet<status> = new Set([
  status.UNKNOWN,
  status.DEADLINE_EXCEEDED,
  status.UNIMPLEMENTED,
  status.INTERNAL,
  status.UNAVAILABLE,
  status.DATA_LOSS,
]);

/** The span of the current call, for the statements that serve it. */
export type CurrentCall = AsyncLocalStorage<SpanContext>;

/**
 * Creates a SERVER span for each call (OpenTelemetry semantic conventions, gRPC server spans), from grpc-js or from the
 * gateway in the same process, and adds its trace id to the log.
 */
export function callSpans(tracer: Tracer, current: CurrentCall): Interceptor {
  return (context, next) => {
    const { call, method } = context;
    const name = method?.path.slice(1) ?? '_OTHER';
    const attributes = { 'rpc.system.name': 'grpc', 'rpc.method': name };
    const parent = parentOf((key) => onlyValue(call.metadata, key));
    const span = tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, parent);
    if (method === undefined) span.setAttribute('rpc.method_original', originalOf(context));
    context.fields = { ...context.fields, traceId: span.spanContext().traceId };
    const end = (reply: Reply): Reply => {
      const code = status[reply.code];
      span.setAttribute('rpc.response.status_code', code);
      if (SERVER_FAULTS.has(reply.code)) {
        span.setAttribute('error.type', code).setStatus({ code: SpanStatusCode.ERROR });
      }
      span.end();
      return reply;
    };
    const reply = current.run(span.spanContext(), next, context);
    return reply instanceof Promise ? reply.then(end) : end(reply);
  };
}

function onlyValue(metadata: CallMetadata, key: string): string | undefined {
  const [value, ...more] = metadata.get(key);
  return typeof value === 'string' && more.length === 0 ? value : undefined;
}

/** The path of an unknown method, without a query, which might hold a token. */
function originalOf({ call }: CallContext): string {
  return loggable(call.path.slice(1).replace(/\?.*$/s, ''));
}
