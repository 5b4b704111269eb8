import type { Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { startTcpFront } from '../../support/tcp-front.js';

/**
 * A network on which every byte takes a while, each way, between a client and a port on loopback. It ends with the
 * test.
 *
 * @param delayMs the time of one way, in milliseconds
 * @returns its port
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

/** Timers of one length run in the order of their making, so bytes keep theirs. */
function passLate(from: Socket, to: Socket, delayMs: number): void {
  from.setNoDelay().on('data', (bytes: Buffer) => setTimeout(() => to.write(bytes), delayMs));
}
