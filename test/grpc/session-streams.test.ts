import { EventEmitter, once } from 'node:events';
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  createServer,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openStreams, renewStreams } from '../../src/grpc/session-streams.js';

const server = createServer();
/** The server's ends of the streams that it does not answer by itself, by their paths. */
const waiting = new Map<string, ServerHttp2Stream>();
let client: ClientHttp2Session;
let session: ServerHttp2Session;

beforeAll(async () => {
  server.on('session', renewStreams);
  server.on('stream', (stream, headers) => {
    const path = String(headers[':path']);
    if (path === '/') stream.respond({}, { endStream: true });
    else waiting.set(path, stream);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  [session] = (await once(server, 'session')) as [ServerHttp2Session];
});

afterAll(() => {
  client.destroy();
  server.close();
});

function open(path: string): ClientHttp2Stream {
  return client.request({ ':path': path }).resume();
}

/** Opens streams, some at a time, and resolves when all are answered. */
async function openAndEnd(count: number): Promise<void> {
  for (let left = count; left > 0; left -= 10) {
    await Promise.all(Array.from({ length: Math.min(10, left) }, () => once(open('/'), 'close')));
  }
}

describe('the streams of a session', () => {
  it('are found, and put into a new Map every now and then', async () => {
    const early = open('/early');
    await once(server, 'stream');
    const first = openStreams(session);
    expect([...(first?.values() ?? [])]).toEqual([waiting.get('/early')]);

    await openAndEnd(300);
    const second = openStreams(session);
    expect(second).not.toBe(first);
    expect([...(second?.values() ?? [])]).toEqual([waiting.get('/early')]);

    waiting.get('/early')?.respond({ 'x-late': 'yes' }, { endStream: true });
    const [headers] = (await once(early, 'response')) as [Record<string, string>];
    expect(headers['x-late']).toBe('yes');
    await openAndEnd(1);
    expect(openStreams(session)?.size).toBe(0);
  });

  it('keep a session open until they have ended, whichever Map they began in', async () => {
    const early = open('/early');
    await once(server, 'stream');
    await openAndEnd(600);
    let closed = false;
    session.close(() => {
      closed = true;
    });
    await new Promise(setImmediate);
    expect(closed).toBe(false);
    waiting.get('/early')?.respond({}, { endStream: true });
    await Promise.all([once(early, 'close'), once(session, 'close')]);
    expect(closed).toBe(true);
  });

  it('go on where Node does not keep them so', () => {
    const stranger = new EventEmitter() as unknown as ServerHttp2Session;
    renewStreams(stranger);
    for (let opened = 0; opened < 300; opened++) stranger.emit('stream');
    expect(openStreams(stranger)).toBeUndefined();
  });
});
