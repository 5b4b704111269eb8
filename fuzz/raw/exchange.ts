import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** How the client of a raw case ends its connection. */
export type Ending =
  /** Says that it has sent everything, and reads until the service ends the connection. */
  | 'finish'
  /** Goes once everything is sent. */
  | 'cut'
  /** Reads nothing for a moment, then goes. */
  | 'unread';

/** What came back. */
export interface Exchange {
  readonly received: Buffer;
  /** Whether the service ended the connection in time; always true where the client did. */
  readonly ended: boolean;
}

/** A service ends a connection whose client has finished long before this, also on a busy machine. */
const LIMIT_MS = 20_000;
const UNREAD_MS = 150;

/** Sends bytes on a connection of their own. */
export async function exchange(
  target: string,
  pieces: readonly Buffer[],
  ending: Ending,
  onData: (chunk: Buffer, socket: Socket) => void = () => undefined,
): Promise<Exchange> {
  const { hostname, port } = new URL(`http://${target}`);
  const chunks: Buffer[] = [];
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  // A service may reset a connection on which it is sent nonsense.
  socket.on('error', () => undefined);
  const closed = new Promise<boolean>((resolve) => {
    socket.once('close', () => {
      resolve(true);
    });
  });
  if (ending === 'unread') socket.pause();
  else {
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      onData(chunk, socket);
    });
  }
  for (const [index, piece] of pieces.entries()) {
    if (index > 0) await sleep(1);
    socket.write(piece);
  }
  if (ending === 'finish') socket.end();
  else socket.write('', () => setTimeout(() => socket.destroy(), ending === 'unread' ? UNREAD_MS : 0));
  const limit = new AbortController();
  const late = sleep(LIMIT_MS, false, { signal: limit.signal }).catch(() => false);
  const ended = await Promise.race([closed, late]);
  limit.abort();
  socket.destroy();
  return { received: Buffer.concat(chunks), ended };
}
