import { AsyncLocalStorage } from 'node:async_hooks';
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { SpanContext } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { AlwaysOnSampler, BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { RequestObserver, Upstream } from '@route-registry/transcoder';
import type { Logger } from 'pino';
import type { Interceptor } from '../../calls/call.js';
import type { StatementObserver } from '../../store/statements.js';
import { callSpans } from './call-spans.js';
import { ExportLog } from './export-log.js';
import { requestSpans } from './request-spans.js';
import { serviceResource } from './resource.js';
import { statementSpans, type TracedDatabase } from './statement-spans.js';
import { tracedUpstream } from './upstream-spans.js';

/** The instrumentation scope of all spans. */
const SCOPE = 'route-registry';
/** How long the shutdown waits for spans to be sent, in milliseconds; unsent ones are then lost. */
const FLUSH_MS = 1_000;

/** Creates spans, with one method for each source of spans. */
export interface Tracing {
  readonly calls: Interceptor;
  /** @param scheme the scheme of the HTTP server */
  requests(scheme: 'http' | 'https'): RequestObserver;
  statements(database: TracedDatabase): StatementObserver;
  /** @param target the server that the upstream calls, as a target of grpc-js */
  upstream(upstream: Upstream, target: string): Upstream;
  /** Sends the remaining spans, for at most a second. */
  close(): Promise<void>;
}

/**
 * Starts sending spans to the collector in `OTEL_EXPORTER_OTLP_ENDPOINT`, as OTLP over HTTP in protobuf. Spans wait in
 * a bounded queue, and are dropped when the queue is full. The SDK itself reads the sampler, headers, limits and other
 * options from the environment variables of the OpenTelemetry specification.
 *
 * @param version the version of the service
 */
export function openTracing(logger: Logger, version: string): Tracing {
  const log = new ExportLog(logger, () => performance.now());
  log.listen();
  const processor = new BatchSpanProcessor(new OTLPTraceExporter());
  const parts = { resource: serviceResource(version), spanProcessors: [processor] };
  const tracer = new BasicTracerProvider(parts).getTracer(SCOPE);
  const everything = new BasicTracerProvider({ ...parts, sampler: new AlwaysOnSampler() }).getTracer(SCOPE);
  const current = new AsyncLocalStorage<SpanContext>();
  return {
    calls: callSpans(tracer, current),
    requests: (scheme) => requestSpans(tracer, scheme),
    statements: (database) => statementSpans(everything, current, database),
    upstream: (upstream, target) => tracedUpstream(upstream, target, tracer),
    async close() {
      const waiting = new AbortController();
      const flushed = processor.shutdown().catch((error: unknown) => {
        log.writeError(error);
      });
      const late = delay(FLUSH_MS, undefined, { signal: waiting.signal }).catch(() => undefined);
      await Promise.race([flushed, late]);
      waiting.abort();
    },
  };
}
