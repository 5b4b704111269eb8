import { randomBytes } from 'node:crypto';
import { onTestFinished, vi } from 'vitest';
import { OtlpCollector, type Received } from '../../support/otlp-collector.js';
import { type Service, type ServiceOptions, startService } from '../../support/service.js';

/** A running service that sends its spans. */
export interface TracedService extends Service {
  readonly collector: OtlpCollector;
}

/**
 * Starts the service with a collector of its own.
 *
 * @param variables further variables of the OpenTelemetry specification, which the SDK reads from the environment
 */
export async function startTracedService(
  options: ServiceOptions,
  variables: Readonly<Record<string, string>> = {},
): Promise<TracedService> {
  const collector = await OtlpCollector.open();
  const settings = { ...options.settings, ...collector.settings, ...variables };
  for (const [name, value] of Object.entries(settings)) vi.stubEnv(name, value);
  const service = await startService({ ...options, settings });
  return {
    ...service,
    collector,
    async close() {
      await service.close();
      await collector.close();
      vi.unstubAllEnvs();
    },
  };
}

/** Starts the service as {@link startTracedService} does, and closes it when the test ends. */
export async function tracedService(
  options: Partial<ServiceOptions> = {},
  variables: Readonly<Record<string, string>> = {},
): Promise<TracedService> {
  const service = await startTracedService({ databaseUrl: 'sqlite::memory:', ...options }, variables);
  onTestFinished(() => service.close());
  return service;
}

/** The span of a client, and the header with which its request continues the trace. */
interface ClientSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceparent: string;
}

/** @param flags `01` for a trace that the client records, else `00` */
export function clientSpan(flags: '01' | '00' = '01'): ClientSpan {
  const [traceId, spanId] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')];
  return { traceId, spanId, traceparent: `00-${traceId}-${spanId}-${flags}` };
}

/** The spans in order, each the parent of the next one. @throws Error if they are not one chain */
export function chainOf(spans: readonly Received[]): Received[] {
  const ids = new Set(spans.map(({ spanId }) => spanId));
  const chain = spans.filter(({ parentSpanId }) => !ids.has(parentSpanId));
  for (const { spanId } of chain) chain.push(...spans.filter(({ parentSpanId }) => parentSpanId === spanId));
  const parents = new Set(chain.map(({ parentSpanId }) => parentSpanId));
  if (parents.size !== spans.length) throw new Error('The spans are not one chain.');
  return chain;
}
