import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** How the client of a raw case closes its connection. */
export type Ending =
  /** Half-closes the connection once no more data arrives, and waits until the service closes it. */
  | 'finish'
  /** Closes the connection once no more data arrives. */
  | 'leave'
  /** Closes the connection once everything is sent. */
  | 'cut'
  /** Reads nothing, and closes the connection shortly after everything is sent. */
  | 'unread';

/** How to send the bytes of a case. */
interface ExchangeOptions {
  /** `host:port` */
  readonly target: string;
  readonly pieces: readonly Buffer[];
  readonly ending: Ending;
  /** The silence after which no more data is expected on the connection, in milliseconds. */
  readonly quietMs: number;
  /** Whether the service sends data on every connection, so that silence before the first data does not count. */
  readonly greets: boolean;
  /** Resolves when the service has read what was sent and has had time to respond. */
  readonly hasRead: () => Promise<void>;
  /** Aborts the connection, whatever its ending. */
  readonly signal: AbortSignal;
  readonly onData?: (chunk: Buffer, socket: Socket) => void;
}

const UNREAD_MS = 150;

/** The result of an exchange. */
interface Exchanged {
  readonly received: Buffer;
  /** Whether the connection was reset: the client may lose a response that was sent (RFC 9112, section 9.6). */
  readonly reset: boolean;
}

/** Sends bytes on a separate connection, and resolves when it has closed. */
export async function exchange(options: ExchangeOptions): Promise<Exchanged> {
  const { target, pieces, ending, quietMs, greets, hasRead, signal, onData } = options;
  const { hostname, port } = new URL(`http://${target}`);
  const chunks: Buffer[] = [];
  const socket = connect({ host: hostname, port: Number(port), noDelay: true, signal });
  // The service may reset a connection on which it receives garbage.
  let reset = false;
  socket.on('error', () => (reset = true));
  const closed = new Promise((resolve) => socket.once('close', resolve));
  if (ending === 'unread') socket.pause();
  else {
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      onData?.(chunk, socket);
    });
  }
  for (const [index, piece] of pieces.entries()) {
    if (index > 0) await sleep(1);
    socket.write(piece);
  }
  switch (ending) {
    case 'finish':
    case 'leave':
      // On a busy machine, silence alone proves little. Any data restarts the timer.
      socket.setTimeout(quietMs).on('timeout', () => {
        const before = chunks.length;
        if (greets && before === 0) {
          socket.setTimeout(quietMs);
          return;
        }
        void hasRead().then(() => {
          if (chunks.length > before) return;
          if (ending === 'finish') socket.end();
          else socket.destroy();
        });
      });
      break;
    case 'cut':
    case 'unread':
      socket.write('', () => setTimeout(() => socket.destroy(), ending === 'unread' ? UNREAD_MS : 0));
  }
  await closed;
  return { received: Buffer.concat(chunks), reset };
}
