import type { Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { startTcpFront } from '../../support/tcp-front.js';

/**
 * Starts a proxy to a port on loopback that delays every byte in both directions. It stops when the test ends.
 *
 * @param delayMs the delay in each direction, in milliseconds
 * @returns the port of the proxy
 */
export async function startDistantProxy(targetPort: number, delayMs: number): Promise<number> {
  const front = await startTcpFront(
    targetPort,
    (client, server) => {
      passLate(client, server, delayMs);
      passLate(server, client, delayMs);
    },
    { endDelayMs: delayMs },
  );
  onTestFinished(() => front.close());
  return front.port;
}

/** Timers with equal delays fire in the order of their creation, so the bytes stay in order. */
function passLate(from: Socket, to: Socket, delayMs: number): void {
  from.setNoDelay().on('data', (bytes: Buffer) => setTimeout(() => to.write(bytes), delayMs));
}
