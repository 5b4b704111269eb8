import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { diag, DiagLogLevel, type SpanContext } from '@opentelemetry/api';
import { setGlobalErrorHandler } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  defaultResource,
  detectResources,
  envDetector,
  type Resource,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import { AlwaysOnSampler, BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { RequestObserver, Upstream } from '@route-registry/transcoder';
import type { Logger } from 'pino';
import { loggable } from '../../calls/call-log.js';
import type { Interceptor } from '../../calls/call.js';
import type { StatementObserver } from '../../store/statement-observers.js';
import { callSpans, requestSpans, statementSpans, type TracedDatabase, tracedUpstream } from './spans.js';

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
      const flushed = processor.shutdown().catch((error: unknown) => {
        log.writeError(error);
      });
      await Promise.race([flushed, delay(FLUSH_MS, undefined, { ref: false })]);
    },
  };
}

/**
 * The attributes that all spans of the process share (OpenTelemetry semantic conventions, service resource).
 * `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` can override the name and all other attributes.
 */
function serviceResource(version: string): Resource {
  return defaultResource()
    .merge(
      resourceFromAttributes({
        'service.name': 'route-registry',
        'service.version': version,
        'service.instance.id': randomUUID(),
      }),
    )
    .merge(detectResources({ detectors: [envDetector] }));
}

/**
 * How long nothing is logged after a line, in milliseconds: an absent collector would otherwise cause a line per batch.
 */
const QUIET_MS = 60_000;

/** Logs the SDK's warnings and errors, at most one a minute. */
export class ExportLog {
  readonly #logger: Logger;
  readonly #now: () => number;
  #quietUntil = -Infinity;
  #leftOut = 0;

  /** @param now milliseconds of a monotonic clock */
  constructor(logger: Logger, now: () => number) {
    this.#logger = logger;
    this.#now = now;
  }

  /** Listens to the SDK, which has one log for the whole process. */
  listen(): void {
    const write = (reason: string): void => {
      this.write(reason);
    };
    diag.setLogger(
      { error: write, warn: write, info: () => undefined, debug: () => undefined, verbose: () => undefined },
      { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
    );
    // The SDK's own handler would turn failed exports into messages that begin with a stack.
    setGlobalErrorHandler((error) => {
      this.writeError(error);
    });
  }

  writeError(error: unknown): void {
    const { message = String(error), code = '' }: { message?: string; code?: string | number } =
      error instanceof Error ? error : {};
    this.write(`${message} ${code}`.trim());
  }

  write(reason: string): void {
    if (this.#now() < this.#quietUntil) {
      this.#leftOut += 1;
      return;
    }
    this.#quietUntil = this.#now() + QUIET_MS;
    this.#logger.warn({ reason: loggable(reason), leftOut: this.#leftOut }, 'tracing is impaired');
    this.#leftOut = 0;
  }
}
