import { Metadata, status } from '@grpc/grpc-js';
import { expect, it, onTestFinished } from 'vitest';
import { listen } from '../../packages/transcoder/test/support/grpc-server.js';
import { opening } from '../../packages/transcoder/test/support/opening.js';
import { PATH, unaryCall } from '../../packages/transcoder/test/support/unary-call.js';
import { openChannel } from '../../src/gateway/channel.js';

it('a gateway fails a call whose response exceeds 256 KiB, and names the bound', async () => {
  const server = opening(
    await listen(
      {
        unary: ({ message }) => ({
          code: status.OK,
          details: '',
          answered: true,
          message,
          trailers: new Metadata(),
        }),
      },
      [PATH],
    ),
  );
  const channel = openChannel(server.address, undefined, { maxWaitingCalls: 8 });
  onTestFinished(() => {
    channel.close();
  });
  const ask = async (length: number) => channel.unary(unaryCall({ message: Buffer.alloc(length) }));
  expect((await ask(256 * 1024)).code).toBe(status.OK);
  expect(await ask(256 * 1024 + 1)).toEqual({
    code: status.INTERNAL,
    details: expect.stringContaining('262144') as string,
    answered: false,
    clientMessage: 'The reply is larger than 262144 bytes, the maximum.',
  });
});
