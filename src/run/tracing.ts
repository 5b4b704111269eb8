import type { Logger } from 'pino';
import type { Closing } from './closing.js';
import type { Tracing } from '../watch/tracing/tracing.js';
import { serviceVersion } from './version.js';

/** Starts tracing, which ends at shutdown. Imports OpenTelemetry only here, since loading it takes time and memory. */
export async function startTracing({
  closing,
  logger,
}: {
  readonly closing: Closing;
  readonly logger: Logger;
}): Promise<Tracing> {
  const { openTracing } = await import('../watch/tracing/tracing.js');
  const tracing = openTracing(logger, serviceVersion());
  closing.resource('span queue', () => tracing.close());
  return tracing;
}
