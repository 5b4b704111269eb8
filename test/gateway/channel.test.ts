import { promises } from 'node:dns';
import { Metadata, status } from '@grpc/grpc-js';
import { expect, it, onTestFinished, vi } from 'vitest';
import { listen } from '../../packages/transcoder/test/support/grpc-server.js';
import { opening } from '../../packages/transcoder/test/support/opening.js';
import { PATH, unaryCall } from '../../packages/transcoder/test/support/unary-call.js';
import { openChannel } from '../../src/gateway/upstream.js';

/** Starts a server whose replies have the length that a call names in text. */
async function lengths(address?: string): Promise<Awaited<ReturnType<typeof listen>>> {
  const reply = { code: status.OK, details: '', answered: true };
  return opening(
    await listen(
      {
        unary: ({ message }) => ({
          ...reply,
          message: Buffer.alloc(Number(message)),
          trailers: new Metadata(),
        }),
      },
      [PATH],
      address,
    ),
  );
}

/** Resolves with a reply of this length, or with what came in its place. */
function asking(target: string): (length: number) => ReturnType<ReturnType<typeof openChannel>['unary']> {
  const channel = openChannel(target, undefined, { maxWaitingCalls: 8 });
  onTestFinished(() => {
    channel.close();
  });
  return async (length) => channel.unary(unaryCall({ message: Buffer.from(String(length)) }));
}

it('a gateway takes replies of up to 4 MiB, as gRPC does, and names the bound for longer ones', async () => {
  const ask = asking((await lengths()).address);
  const most = 4 * 1_048_576;
  expect((await ask(most)).message).toHaveLength(most);
  expect(await ask(most + 1)).toMatchObject({
    code: status.INTERNAL,
    clientMessage: 'The reply is larger than 4194304 bytes, the maximum.',
  });
});

it('a gateway finds a server that has moved to another address in less than ten seconds', async () => {
  let address = '127.0.0.1';
  vi.spyOn(promises, 'lookup').mockImplementation(() => Promise.resolve([{ address, family: 4 }] as never));
  onTestFinished(() => void vi.restoreAllMocks());
  const server = await lengths();
  const [, port = ''] = server.address.split(':');
  const ask = asking(`dns:///server.test:${port}`);
  expect(await ask(1)).toMatchObject({ code: status.OK });
  server.close();
  address = '127.0.0.2';
  await lengths(`${address}:${port}`);
  await expect.poll(async () => (await ask(1)).code, { timeout: 10_000 }).toBe(status.OK);
});
