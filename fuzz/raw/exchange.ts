import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** How long a client that reads nothing stays after it has sent everything, in milliseconds. */
const UNREAD_MS = 150;

/** What to send on a connection of its own. */
interface Sending {
  /** `host:port` */
  readonly target: string;
  readonly pieces: readonly Buffer[];
  /** Aborts the connection. */
  readonly signal: AbortSignal;
  /** Takes what the service sends, and ends the connection; default: reads nothing, and leaves soon after. */
  readonly onData?: ((chunk: Buffer, socket: Socket) => void) | undefined;
}

/** Sends bytes on a connection of their own. Resolves when it has closed. */
export async function exchange({ target, pieces, signal, onData }: Sending): Promise<void> {
  const { hostname, port } = new URL(`http://${target}`);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true, signal });
  // The service may reset the connection of a client that floods it.
  socket.on('error', () => undefined);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  if (onData === undefined) socket.pause();
  else {
    socket.on('data', (chunk: Buffer) => {
      onData(chunk, socket);
    });
  }
  for (const [index, piece] of pieces.entries()) {
    if (index > 0) await sleep(1);
    socket.write(piece);
  }
  if (onData === undefined) socket.write('', () => setTimeout(() => socket.destroy(), UNREAD_MS));
  await closed;
}
