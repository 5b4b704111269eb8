import { createServer } from 'node:net';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { listenOrExplain } from '../../src/run/start.js';

/** Listens on this host as a server does. */
async function listenOn(host: string): Promise<void> {
  const server = createServer().listen(0, host);
  await once(server, 'listening');
  server.close();
}

describe('an address to listen on', () => {
  it('that this machine does not have is refused with an explanation', async () => {
    // TEST-NET-1 of RFC 5737, which no machine has.
    await expect(
      listenOrExplain('HTTP_ADDRESS', '192.0.2.1:80', () => listenOn('192.0.2.1')),
    ).rejects.toThrow('Cannot listen on HTTP_ADDRESS=192.0.2.1:80: this machine does not have this address.');
  });

  it.each([
    [
      'that this user may not use is refused with an explanation',
      'listen EACCES: permission denied 127.0.0.1:80',
      'this user may not use it; ports below 1024 often need a privilege.',
    ],
    [
      'is refused with an explanation even if only the error message tells why',
      'No address added out of total 1 resolved errors: [listen EADDRINUSE: address already in use 127.0.0.1:80]',
      'another program uses it, perhaps another copy of this service.',
    ],
    ['is refused with the original message for any other cause', 'odd', 'odd'],
  ])('%s', async (_, message, words) => {
    const listen = (): Promise<void> => Promise.reject(new Error(message));
    await expect(listenOrExplain('GRPC_ADDRESS', '127.0.0.1:80', listen)).rejects.toThrow(
      `Cannot listen on GRPC_ADDRESS=127.0.0.1:80: ${words}`,
    );
  });
});
