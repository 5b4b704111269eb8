import { once } from 'node:events';
import { expect, it } from 'vitest';
import { socketTo } from '../support/http2-frames.js';
import { runningService } from '../support/running-service.js';

it('a gRPC connection that ends with an error is logged with the reason, within the limit for unauthenticated clients', async () => {
  const service = await runningService();
  const garble = async (): Promise<void> => {
    const socket = socketTo(service.grpcAddress).on('error', () => undefined);
    socket.write('GET / HTTP/1.1\r\n\r\n');
    await once(socket.resume(), 'close');
  };
  await Promise.all(Array.from({ length: 13 }, garble));
  const line = { level: 40, reason: 'Received bad client magic byte string' };
  const lines = (message: string): unknown[] => service.log.filter(({ msg }) => msg === message);
  await expect
    .poll(() => lines('log lines left out'))
    .toMatchObject([{ kind: 'unauthenticated', leftOut: 3 }]);
  expect(lines('a gRPC connection was closed because of an error')).toMatchObject(Array(10).fill(line));
});
