import { once } from 'node:events';
import { type IncomingMessage, request as send } from 'node:http';
import { afterEach, expect, it, vi } from 'vitest';
import { startService, tokenFor } from '../support/service.js';

/** Longer than the interval between pings of the store, shorter than the grace for calls in progress. */
const A_WHILE_MS = 5_000;

afterEach(() => {
  vi.useRealTimers();
});

it('while the last call is answered, the log does not report serving', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const service = await startService({ databaseUrl: 'sqlite::memory:' });
  const request = send(`${service.httpUrl}/v1/routing`, {
    method: 'POST',
    agent: false,
    headers: {
      authorization: `Bearer ${tokenFor()}`,
      'content-type': 'application/json',
      'content-length': 2,
      expect: '100-continue',
    },
  });
  request.flushHeaders();
  await once(request, 'continue');
  const before = service.log.length;
  const closed = service.close();
  await vi.advanceTimersByTimeAsync(A_WHILE_MS);
  request.end('{}');
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  response.resume();
  await closed;
  expect(response.statusCode).toBe(400);
  expect(service.log.slice(before).map(({ msg }) => msg)).not.toContain('the store answers: serving');
});
