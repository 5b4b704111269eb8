import { pino } from 'pino';
import { expect, it } from 'vitest';
import { socketTo } from '../support/http2-frames.js';
import { runningService } from '../support/running-service.js';

/** How many log lines about unauthenticated clients are written at once. */
const LIMIT = 10;
const BEYOND_LIMIT = 3;

it('a gRPC connection that ends with an error is logged with the reason, within the limit for unauthenticated clients', async () => {
  const service = await runningService();
  const sendHttp1 = (): Promise<void> =>
    new Promise((closed) => {
      // The server may reset the connection.
      const socket = socketTo(service.grpcAddress).on('error', () => undefined);
      socket.resume().once('close', closed).write('GET / HTTP/1.1\r\n\r\n');
    });
  await Promise.all(Array.from({ length: LIMIT + BEYOND_LIMIT }, sendHttp1));
  const line = { level: pino.levels.values['warn'], reason: 'Received bad client magic byte string' };
  const lines = (message: string): unknown[] => service.log.filter(({ msg }) => msg === message);
  await expect
    .poll(() => lines('log lines left out'))
    .toMatchObject([{ kind: 'unauthenticated', leftOut: BEYOND_LIMIT }]);
  expect(lines('a gRPC connection was closed because of an error')).toMatchObject(Array(LIMIT).fill(line));
});
