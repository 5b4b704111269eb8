import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** How the client of a raw case ends its connection. */
export type Ending =
  /** Once nothing more comes, says that it has sent everything, and waits until the service ends the connection. */
  | 'finish'
  /** Goes once nothing more comes. */
  | 'leave'
  /** Goes once everything is sent. */
  | 'cut'
  /** Reads nothing for a moment, then goes. */
  | 'unread';

/** How to send the bytes of a case. */
interface ExchangeOptions {
  /** `host:port` */
  readonly target: string;
  readonly pieces: readonly Buffer[];
  readonly ending: Ending;
  /** The silence after which nothing more comes on a connection, in milliseconds. */
  readonly quietMs: number;
  /** Whether the service says something on every connection, so that silence before that means nothing. */
  readonly greets: boolean;
  /** Resolves when the service has read what was sent, and has had time to answer it. */
  readonly hasRead: () => Promise<void>;
  /** Ends the connection, whatever was planned for it. */
  readonly signal: AbortSignal;
  readonly onData?: (chunk: Buffer, socket: Socket) => void;
}

const UNREAD_MS = 150;

/** The bytes that came back on a connection. */
interface Exchanged {
  readonly received: Buffer;
  /** Whether it was reset, which may cost a client an answer that was sent (RFC 9112, section 9.6). */
  readonly reset: boolean;
}

/** Sends bytes on a separate connection. */
export async function exchange(options: ExchangeOptions): Promise<Exchanged> {
  const { target, pieces, ending, quietMs, greets, hasRead, signal, onData } = options;
  const { hostname, port } = new URL(`http://${target}`);
  const chunks: Buffer[] = [];
  const socket = connect({ host: hostname, port: Number(port), noDelay: true, signal });
  // A service may reset a connection on which it is sent nonsense.
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
      // On a busy machine silence alone says little. Whatever comes begins it anew.
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
