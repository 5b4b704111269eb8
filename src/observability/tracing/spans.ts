import type { AsyncLocalStorage } from 'node:async_hooks';
import { status } from '@grpc/grpc-js';
import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type TextMapGetter,
  type TextMapSetter,
  trace,
  TraceFlags,
  type Tracer,
} from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import type { RequestObserver, UnaryCall, UnaryReply, Upstream } from '@route-registry/transcoder';
import { loggable } from '../../calls/call-log.js';
import {
  type CallContext,
  AUTH_ONLY,
  type Interceptor,
  type MetadataKey,
  type MetadataReader,
  type Reply,
  TRACEPARENT,
  TRACESTATE,
} from '../../calls/call.js';
import type { ObservedStatement, StatementObserver } from '../../store/statement-observers.js';

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
type CurrentCall = AsyncLocalStorage<SpanContext>;

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

function onlyValue(metadata: MetadataReader, key: MetadataKey): string | undefined {
  const [value, ...more] = metadata.get(key);
  return typeof value === 'string' && more.length === 0 ? value : undefined;
}

/** The path of an unknown method, without a query, which might hold a token. */
function originalOf({ call }: CallContext): string {
  return loggable(call.path.slice(1).replace(/\?.*$/s, ''));
}

/**
 * The methods of RFC 9110 and RFC 5789. Others become `_OTHER`, as the conventions require; the service supports none.
 */
const KNOWN_METHODS: ReadonlySet<string> = new Set([
  'CONNECT',
  'DELETE',
  'GET',
  'HEAD',
  'OPTIONS',
  'PATCH',
  'POST',
  'PUT',
  'TRACE',
]);

/** The lowest HTTP status of a server error. */
const SERVER_ERROR = 500;

/**
 * Creates a SERVER span for each HTTP request (OpenTelemetry semantic conventions, HTTP server spans). The span holds
 * the path's template but not the path, which may contain a misplaced token. If the client disconnects before the
 * response, the span has no status.
 *
 * @param scheme `http` or `https`
 */
export function requestSpans(tracer: Tracer, scheme: string): RequestObserver {
  return {
    begin({ method, headers }) {
      const known = KNOWN_METHODS.has(method);
      const name = known ? method : 'HTTP';
      const attributes = {
        ...(known
          ? { 'http.request.method': method }
          : { 'http.request.method': '_OTHER', 'http.request.method_original': method }),
        'url.scheme': scheme,
      };
      const parent = parentOf((key) => headers[key]?.toString());
      const span = tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, parent);
      return {
        metadata: metadataOf(span),
        fields: { traceId: span.spanContext().traceId },
        end({ template, status }) {
          if (template !== undefined)
            span.updateName(`${name} ${template}`).setAttribute('http.route', template);
          if (status !== undefined) span.setAttribute('http.response.status_code', status);
          if (status !== undefined && status >= SERVER_ERROR) {
            span.setAttribute('error.type', String(status)).setStatus({ code: SpanStatusCode.ERROR });
          }
          span.end();
        },
      };
    },
  };
}

const OK: number = status.OK;
const ABORTED: number = status.ABORTED;
/** One host and its port; the host may be resolved with DNS. */
const TARGET = /^(?:dns:(?:\/\/[^/]*\/)?)?(?:\[([^\]]+)\]|([^:,/[\]]+)):(\d+)$/;

/**
 * Creates a CLIENT span for each call over a channel (OpenTelemetry semantic conventions, gRPC client spans), which is
 * the parent of the server's own span.
 *
 * @param target a target of grpc-js
 */
export function tracedUpstream(upstream: Upstream, target: string, tracer: Tracer): Upstream {
  const server = serverOf(target);
  return {
    unary(call) {
      const name = call.path.slice(1);
      const attributes = { 'rpc.system.name': 'grpc', 'rpc.method': name, ...server };
      const parent = parentOf((key) => call.metadata.get(key));
      const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }, parent);
      const end = (reply: UnaryReply): UnaryReply => {
        const code = status[reply.code] ?? 'UNKNOWN';
        span.setAttribute('rpc.response.status_code', code);
        if (reply.code !== OK && !isAdmission(call, reply))
          span.setAttribute('error.type', code).setStatus({ code: SpanStatusCode.ERROR });
        span.end();
        return reply;
      };
      const metadata = new Map([...call.metadata, ...metadataOf(span)]);
      const reply = upstream.unary({ ...call, metadata });
      return reply instanceof Promise ? reply.then(end) : end(reply);
    },
  };
}

/** Whether the guard has admitted an auth-only call. */
function isAdmission({ metadata }: UnaryCall, { code }: UnaryReply): boolean {
  return code === ABORTED && metadata.has(AUTH_ONLY);
}

/** The server in a target: its host and port, or else the whole target. */
export function serverOf(target: string): Attributes {
  const [, ipv6, name, port] = TARGET.exec(target) ?? [];
  const host = ipv6 ?? name;
  return host === undefined
    ? { 'server.address': target }
    : { 'server.address': host, 'server.port': Number(port) };
}

/** The database of the statements, as named in spans. */
export type TracedDatabase =
  { readonly engine: 'mysql'; readonly database: string } | { readonly engine: 'sqlite' };

/** The only table in the statements of calls. */
const TABLE = 'routes';

/**
 * Creates a CLIENT span for each statement that serves a recorded call (OpenTelemetry semantic conventions, database
 * client spans). The span is a child of the call's span or, if the statement serves several calls, starts its own trace
 * with a link to each recorded call. It never holds the statement's text or values.
 *
 * @param tracer a tracer that records everything: the calls decide what is recorded
 */
export function statementSpans(
  tracer: Tracer,
  current: CurrentCall,
  database: TracedDatabase,
): StatementObserver {
  return {
    capture: () => current.getStore(),
    begin(statement) {
      const calls = statement.captured as readonly (SpanContext | undefined)[];
      const recorded = calls.filter((call) => call !== undefined).filter(isRecorded);
      const [first] = recorded;
      if (first === undefined) return () => undefined;
      const alone = statement.batchSize === 1;
      const attributes = { ...placeOf(database), ...attributesOf(statement) };
      const span = tracer.startSpan(
        `${attributes['db.operation.name']} ${TABLE}`,
        {
          kind: SpanKind.CLIENT,
          attributes,
          links: alone ? [] : recorded.map((context) => ({ context })),
        },
        alone ? trace.setSpanContext(ROOT_CONTEXT, first) : ROOT_CONTEXT,
      );
      return (error) => {
        if (error !== undefined)
          span.setAttributes(failureOf(error)).setStatus({ code: SpanStatusCode.ERROR });
        span.end();
      };
    },
  };
}

function isRecorded({ traceFlags }: SpanContext): boolean {
  return (traceFlags & TraceFlags.SAMPLED) !== 0;
}

function placeOf(database: TracedDatabase): Attributes {
  return database.engine === 'mysql'
    ? { 'db.system.name': 'mysql', 'db.namespace': database.database }
    : { 'db.system.name': 'sqlite' };
}

function attributesOf({ operation, batchSize, attempt }: ObservedStatement) {
  return {
    'db.collection.name': TABLE,
    // The conventions define a batch as two or more.
    ...(batchSize === 1
      ? { 'db.operation.name': operation }
      : { 'db.operation.name': `BATCH ${operation}`, 'db.operation.batch.size': batchSize }),
    'route_registry.db.attempt': attempt,
  } satisfies Attributes;
}

/** The lowest error number of a MySQL server; lower ones are the operating system's. */
const FIRST_SERVER_ERROR = 1000;
/** The `error.type` of an unknown error. */
const OTHER = '_OTHER';

/**
 * Why a statement failed (OpenTelemetry semantic conventions, database client spans): `db.response.status_code` is
 * MySQL's error number or SQLite's result code; `error.type` is the same, or the code of a connection that failed, such
 * as `ECONNRESET`.
 */
export function failureOf(error: unknown): Attributes {
  const { cause = error } = Object(error) as { readonly cause?: unknown };
  const { errno, code } = Object(cause) as { readonly errno?: unknown; readonly code?: unknown };
  const ofServer = typeof errno === 'number' && errno >= FIRST_SERVER_ERROR;
  if (!ofServer && typeof code !== 'string') return { 'error.type': OTHER };
  const type = ofServer ? String(errno) : String(code);
  const hasStatus = ofServer || type.startsWith('SQLITE_');
  return hasStatus ? { 'db.response.status_code': type, 'error.type': type } : { 'error.type': type };
}

/** The most characters accepted in either value (W3C Trace Context 3.3.1.5). The SDK has no limit. */
const MAX_LENGTH = 512;

const propagator = new W3CTraceContextPropagator();

/** Reads the value of one of the two keys; undefined unless the key has exactly one value. */
type ReadKey = (key: typeof TRACEPARENT | typeof TRACESTATE) => string | undefined;

const READER: TextMapGetter<ReadKey> = {
  keys: () => [TRACEPARENT, TRACESTATE],
  get(read, key) {
    if (key !== TRACEPARENT && key !== TRACESTATE) return undefined;
    const value = read(key);
    return value === undefined || value.length > MAX_LENGTH ? undefined : value;
  },
};

const WRITER: TextMapSetter<Map<string, string>> = {
  set: (metadata, key, value) => metadata.set(key, value),
};

/**
 * The parent in a client's trace context (W3C Trace Context, chapter 3); none if it is missing or malformed. A
 * `tracestate` of more than 512 characters is ignored.
 */
export function parentOf(read: ReadKey): Context {
  return propagator.extract(ROOT_CONTEXT, read, READER);
}

/**
 * The metadata that makes a call the child of a span. It always has both keys, so that no value from the client is
 * passed on; an empty `tracestate` equals none (3.3.1.1).
 */
function metadataOf(span: Span): Map<string, string> {
  const metadata = new Map([[TRACESTATE, '']]);
  propagator.inject(trace.setSpan(ROOT_CONTEXT, span), metadata, WRITER);
  return metadata;
}
