import { firstBlock, repeatedBlock } from '../../../bench/load/hpack.js';
import { FrameConnection } from '../../support/frame-connection.js';
import { frameMessage } from '../../support/http2-call.js';
import { DATA, END_STREAM, grpcHead, INITIAL_WINDOW_SIZE, socketTo } from '../../support/http2-frames.js';
import type { Neighbours } from './load-messages.js';

const FIELDS = grpcHead('/grpc.health.v1.Health/Check');
const [FIRST, REPEATED] = [firstBlock(FIELDS), repeatedBlock(FIELDS)];
const NOTHING = frameMessage(new Uint8Array());
/** How many connections are opened at once. */
const AT_ONCE = 50;

/** The program of connections that each make a health check now and then, until it is stopped. */
async function main({ target, connections, everyMs, window }: Neighbours): Promise<void> {
  for (let opened = 0; opened < connections; opened += AT_ONCE) {
    const some = Math.min(AT_ONCE, connections - opened);
    await Promise.all(Array.from({ length: some }, () => open(target, everyMs, window)));
  }
  process.stdout.write(`${JSON.stringify({ msg: 'connected' })}\n`);
}

/** Opens a connection whose first check comes at any time, so that the checks of all are spread. */
async function open(target: string, everyMs: number, window: number): Promise<void> {
  const socket = socketTo(target);
  await new Promise((resolve) => socket.once('connect', resolve));
  const connection = new FrameConnection(socket, { [INITIAL_WINDOW_SIZE]: window }, () => undefined);
  let block = FIRST;
  const check = (): void => {
    connection.send(DATA, END_STREAM, connection.begin(block), NOTHING);
    block = REPEATED;
  };
  setTimeout(() => {
    check();
    setInterval(check, everyMs);
  }, Math.random() * everyMs);
}

await main(JSON.parse(process.argv[2] ?? '') as Neighbours);
