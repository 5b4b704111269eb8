import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** Closes a resource when the test ends, in reverse order of opening. */
export function opening<T extends { close: () => unknown }>(it: T): T {
  onTestFinished(async () => {
    await it.close();
  });
  return it;
}

/** Starts a server on any loopback port, until the test ends. Returns its origin. */
export async function listening(server: Server): Promise<string> {
  await once(opening(server).listen(0, '127.0.0.1'), 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
