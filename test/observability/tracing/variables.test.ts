import { describe, expect, it } from 'vitest';
import { tokenFor } from '../../support/service.js';
import { clientSpan, startTracedService, tracedService } from './traced-service.js';

describe('the variables of the OpenTelemetry specification', () => {
  it('set the service name and the resource attributes', async () => {
    const service = await tracedService(
      {},
      { OTEL_SERVICE_NAME: 'mine', OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test' },
    );
    await fetch(`${service.httpUrl}/healthz`);
    const [span] = await service.collector.received(1, ({ name }) => name === 'GET /healthz');
    expect(span?.resource).toMatchObject({ 'service.name': 'mine', 'deployment.environment.name': 'test' });
  });

  it.each([
    ['parentbased_traceidratio', 3],
    ['traceidratio', 0],
  ])(
    'decide with OTEL_TRACES_SAMPLER=%s whether the sampling decision of the client counts',
    async (OTEL_TRACES_SAMPLER, spans) => {
      const service = await startTracedService(
        { databaseUrl: 'sqlite::memory:' },
        { OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG: '0' },
      );
      const { traceparent } = clientSpan();
      await fetch(`${service.httpUrl}/v1/routing`, {
        method: 'POST',
        headers: { authorization: `Bearer ${tokenFor()}`, 'content-type': 'application/json', traceparent },
        body: '{"method":"GET","path":"/","handler":"h"}',
      });
      await service.close();
      expect(service.collector.spans).toHaveLength(spans);
    },
  );
});
