import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import { connect, Socket } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import { firstOf } from '../support/library-contract.js';
import { listening } from '../support/opening.js';
import { settled } from '../support/settled.js';
import type { HttpReply } from '../../src/http-reply.js';
import { writeEarlyReply, writeReply } from '../../src/http/response.js';

/** Larger than the buffers of a connection. */
const BODY = randomBytes(16 * 1024 * 1024);
const LARGE: HttpReply = { status: 200, headers: {}, body: BODY };
/** What one connection may keep in the memory of the process, in bytes: one piece and a head. */
const MOST_WAITING = 16_384 + 1_024;

/** Connects to a server that responds with `write`. Returns the connection and the server's responses. */
async function connected(
  write: (response: ServerResponse) => void,
): Promise<{ socket: Socket; responses: ServerResponse[] }> {
  const responses: ServerResponse[] = [];
  const server = createServer((_request, response) => {
    responses.push(response);
    write(response);
  });
  const socket = connect(Number(new URL(await listening(server)).port), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  return { socket, responses };
}

/** Everything that the server sends until it closes the connection. */
async function readAll(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(socket, 'close');
  return Buffer.concat(chunks);
}

it.each([
  { status: 302, length: '0' },
  { status: 200, length: '0' },
  { status: 204, length: undefined },
  { status: 304, length: undefined },
])('a $status reply without content has the length $length and no chunks', async ({ status, length }) => {
  const { socket } = await connected((response) => {
    void writeReply(response, { status, headers: {} }, 'id');
  });
  socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  const text = (await readAll(socket)).toString();
  expect(/Content-Length: (.*)\r\n/.exec(text)?.[1]).toBe(length);
  expect(text).toMatch(/\r\n\r\n$/);
  expect(text).not.toContain('Transfer-Encoding');
});

const isBody = (bytes: Buffer): boolean => bytes.equals(BODY);

it('a large response keeps only one piece in memory while its client does not read, and arrives complete afterwards', async () => {
  const { socket, responses } = await connected((response) => {
    void writeReply(response, LARGE, 'id');
  });
  socket.pause();
  socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  await settled(() => responses[0]?.socket?.bytesWritten ?? 0);
  expect(responses[0]?.writableLength).toBeLessThan(MOST_WAITING);
  socket.resume();
  const text = await readAll(socket);
  expect(text.toString('latin1', 0, 400)).toContain(`Content-Length: ${BODY.length}\r\n`);
  expect(isBody(text.subarray(-BODY.length))).toBe(true);
});

it('large responses to pipelined requests are complete and in order', async () => {
  const { socket } = await connected((response) => {
    const { url } = response.req;
    void writeReply(
      response,
      url === '/small' ? { status: 404, headers: {}, body: '{}' } : LARGE,
      String(url),
    );
  });
  const paths = ['/a', '/small', '/b'];
  socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`).join(''));
  socket.write('HEAD /head HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  const bytes = await readAll(socket);
  const heads: string[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf('\r\n\r\n', at) + 4;
    const head = bytes.toString('latin1', at, end);
    const [, id = ''] = /X-Request-Id: (.*)\r\n/.exec(head) ?? [];
    const length = id === '/head' ? 0 : Number(/Content-Length: (.*)\r\n/.exec(head)?.[1]);
    heads.push(`${id} ${length} ${String(isBody(bytes.subarray(end, end + length)))}`);
    at = end + length;
  }
  expect(heads).toEqual([
    `/a ${BODY.length} true`,
    '/small 2 false',
    `/b ${BODY.length} true`,
    '/head 0 false',
  ]);
});

it.each([
  { what: 'sends the rest of it, after which it ends at once', later: 'x'.repeat(9), lingerMs: 600_000 },
  { what: 'sends no more of it', later: '', lingerMs: 50 },
])('a large response before the end of its request is complete if the client $what', async (upload) => {
  const { later, lingerMs } = upload;
  const { socket } = await connected((response) => {
    void writeEarlyReply(response, LARGE, 'id', lingerMs);
  });
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n');
  const reading = readAll(socket);
  socket.write(later);
  const bytes = await reading;
  expect(isBody(bytes.subarray(-BODY.length))).toBe(true);
});

it('no more of a large response is written once its connection is gone', async () => {
  const response = new ServerResponse(new IncomingMessage(new Socket()));
  const write = vi.spyOn(response, 'write').mockImplementation((_, taken) => {
    (taken as unknown as (error: Error) => void)(new Error('gone'));
    return false;
  });
  const end = vi.spyOn(response, 'end');
  void writeReply(response, LARGE, 'id');
  await new Promise(setImmediate);
  expect([write.mock.calls.length, end.mock.calls.length]).toEqual([1, 0]);
});

/** An endless body in pieces. Counts the pieces that are requested. */
class Pieces {
  asked = 0;
  over = false;

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        this.asked += 1;
        yield await Promise.resolve(BODY.subarray(0, 50_000));
      }
    } finally {
      this.over = true;
    }
  }
}

it('a body in pieces is read at the pace of its client, and closed when the client disconnects', async () => {
  const pieces = new Pieces();
  const { socket } = await connected((response) => {
    void writeReply(response, { status: 200, headers: {}, body: pieces }, 'id');
  });
  socket.pause();
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  const paused = await settled(() => pieces.asked);
  socket.resume();
  await expect.poll(() => pieces.asked).toBeGreaterThan(paused + 100);
  socket.destroy();
  await expect.poll(() => pieces.over).toBe(true);
});

it('no piece of a body is read for HEAD', async () => {
  const pieces = new Pieces();
  const { socket } = await connected((response) => {
    void writeReply(response, { status: 200, headers: {}, body: pieces }, 'id');
  });
  socket.write('HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  expect(String(await readAll(socket))).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\n$/);
  expect(pieces.asked).toBe(0);
});

it('pieces that come after the client has disconnected are discarded', async () => {
  const { socket, responses } = await connected((response) => {
    const left = once(response, 'close');
    async function* late(): AsyncGenerator<Uint8Array> {
      yield BODY.subarray(0, 1);
      await left;
      yield BODY.subarray(0, 1);
    }
    void writeReply(response, { status: 200, headers: {}, body: late() }, 'id');
  });
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(socket, 'data');
  const write = vi.spyOn(firstOf(responses), 'write');
  socket.destroy();
  await once(firstOf(responses), 'close');
  await new Promise(setImmediate);
  expect(write).not.toHaveBeenCalled();
});

it('a body in pieces before the end of its request is complete', async () => {
  async function* two(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('one');
    yield await Promise.resolve(Buffer.from('two'));
  }
  const { socket } = await connected((response) => {
    void writeEarlyReply(response, { status: 200, headers: {}, body: two() }, 'id', 50);
  });
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n');
  expect(String(await readAll(socket))).toMatch(/\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n$/);
});

it('a large response ends when its client disconnects in the middle', async () => {
  const { socket, responses } = await connected((response) => {
    void writeReply(response, LARGE, 'id');
  });
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(socket, 'data');
  const response = firstOf(responses);
  const closed = once(response, 'close');
  socket.resetAndDestroy();
  await closed;
  expect(response.writableFinished).toBe(false);
});
