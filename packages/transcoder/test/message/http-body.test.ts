import { connect } from 'node:net';
import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { Deferred } from '../support/deferred.js';
import {
  type FeedCall,
  feedMessage,
  readFeedMessage,
  startFeed,
  type Unary,
} from '../support/feed-server.js';
import { errorOf, httpRequest } from '../support/http-request.js';

const FILE = '/v1/files/report';
const ARCHIVE = '/v1/archives/all';
const DATA = Buffer.from([0, 0xff, 0x0a, 0x80]);

function httpBody(contentType: string, data: Uint8Array): Buffer {
  return feedMessage('google.api.HttpBody', { contentType, data: Buffer.from(data).toString('base64') });
}

const noStream = (): void => undefined;
const start = (unary?: Unary, options = {}): ReturnType<typeof startFeed> =>
  startFeed(noStream, options, undefined, unary);

describe('a google.api.HttpBody response', () => {
  it('is sent as its bytes, with its content type and without an entity tag', async () => {
    const { origin } = await start(() => httpBody('image/png; x=1', DATA));
    const response = await fetch(origin + FILE);
    expect([response.status, Buffer.from(await response.arrayBuffer())]).toEqual([200, DATA]);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'image/png; x=1',
      'content-length': '4',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    });
    expect(response.headers.get('etag')).toBeNull();
  });

  it.each(['', 'nonsense', 'a/b/c', 'text/plain\r\nSet-Cookie: a=b', 'text/plain; é=1'])(
    'with the content type %j is sent as application/octet-stream',
    async (contentType) => {
      const { origin } = await start(() => httpBody(contentType, DATA));
      const { headers } = await httpRequest(origin, { path: FILE });
      expect(headers['content-type']).toBe('application/octet-stream');
      expect(headers).not.toHaveProperty('set-cookie');
    },
  );

  it('may be one field of the response', async () => {
    const { origin } = await start();
    const headers = { 'content-type': 'text/csv' };
    const copied = await httpRequest(origin, { method: 'PUT', path: '/v1/copies/a', headers, body: 'a,b' });
    expect([copied.headers['content-type'], copied.text]).toEqual(['text/csv', 'a,b']);
  });
});

describe('a google.api.HttpBody request', () => {
  it('takes a body of any content type, and other fields from path and query', async () => {
    const requests: Buffer[] = [];
    const { origin } = await start((_name, request) => {
      requests.push(request);
      return request;
    });
    const headers = { 'content-type': 'image/png' };
    const path = '/v1/files/logo?owner=me';
    expect((await httpRequest(origin, { method: 'PUT', path, headers, body: DATA })).status).toBe(200);
    expect(requests.map((request) => readFeedMessage('File', request))).toMatchObject([
      { name: 'logo', owner: 'me', content: { contentType: 'image/png', data: DATA } },
    ]);
  });

  it('may be the whole request, with or without a content type', async () => {
    const { origin } = await start();
    const sent = await httpRequest(origin, { method: 'POST', path: '/v1/turn', body: '{"not json' });
    expect([sent.status, sent.headers['content-type'], sent.text]).toEqual([
      200,
      'application/octet-stream',
      '{"not json',
    ]);
    expect((await httpRequest(origin, { method: 'POST', path: '/v1/turn' })).text).toBe('');
  });

  it('cannot be set by query parameters', async () => {
    const { origin } = await start();
    const path = '/v1/files/a?content.contentType=text/html';
    expect((await httpRequest(origin, { method: 'PUT', path, body: 'a' })).status).toBe(400);
  });
});

describe('a stream of google.api.HttpBody', () => {
  it('is one body with the content type of its first message', async () => {
    const { origin } = await startFeed((call) => {
      for (const part of [httpBody('text/csv', Buffer.alloc(0)), httpBody('', DATA), httpBody('a/b', DATA)])
        call.write(part);
      call.end();
    });
    const response = await fetch(origin + ARCHIVE, { headers: { accept: 'text/event-stream' } });
    expect(Buffer.from(await response.arrayBuffer())).toEqual(Buffer.concat([DATA, DATA]));
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/csv',
      'x-content-type-options': 'nosniff',
      'x-accel-buffering': 'no',
    });
  });

  it('is empty without messages', async () => {
    const { origin } = await startFeed((call) => call.end());
    const { headers, text } = await httpRequest(origin, { path: ARCHIVE });
    expect([headers['content-type'], text]).toEqual(['application/octet-stream', '']);
  });

  it('is cut off and reported as failed if it fails in the middle', async () => {
    const fails = new Deferred();
    const feed = await startFeed((call) => {
      call.write(httpBody('text/csv', DATA));
      void fails.promise.then(() => call.emit('error', { code: status.DATA_LOSS, details: 'Lost.' }));
    });
    const response = await fetch(feed.origin + ARCHIVE);
    fails.resolve();
    await expect(response.arrayBuffer()).rejects.toThrow();
    await expect.poll(() => feed.outcomes).toMatchObject([{ status: 200, reason: 'DATA_LOSS' }]);
  });

  it('needs little memory however long it is', async () => {
    const part = httpBody('application/zip', Buffer.alloc(2 ** 20));
    const send = async (call: FeedCall): Promise<void> => {
      for (let sent = 0; sent < 256; sent++) await new Promise((written) => call.write(part, written));
      call.end();
    };
    const feed = await startFeed((call) => void send(call));
    const { hostname, port } = new URL(feed.origin);
    let received = 0;
    let most = 0;
    const before = process.memoryUsage().rss;
    await new Promise<void>((resolve) => {
      const socket = connect(Number(port), hostname);
      socket.write(`GET ${ARCHIVE} HTTP/1.0\r\n\r\n`);
      socket.on('data', ({ length }) => {
        received += length;
        most = Math.max(most, process.memoryUsage.rss() - before);
      });
      socket.on('close', resolve);
    });
    expect(received).toBeGreaterThan(2 ** 28);
    expect(most).toBeLessThan(2 ** 27);
  });
});

describe('the JSON form of a google.api.HttpBody, as a request', () => {
  const data = DATA.toString('base64');
  const envelope = JSON.stringify({ contentType: 'image/png', data });
  const turn = async (body: string, contentType: string, options = { lenient: true }) => {
    const { origin } = await start(undefined, options);
    const headers = { 'content-type': contentType };
    const sent = await fetch(`${origin}/v1/turn`, { method: 'POST', headers, body });
    return [sent.headers.get('content-type'), Buffer.from(await sent.arrayBuffer())];
  };

  it.each([
    { body: envelope, type: 'application/json' },
    { body: JSON.stringify({ content_type: 'image/png', data }), type: 'application/json; charset=utf-8' },
    { body: JSON.stringify({ data, contentType: 'image/png', extensions: [] }), type: 'application/json' },
  ])('is its content type and bytes with lenient, as in grpc-gateway: $body', async ({ body, type }) => {
    expect(await turn(body, type)).toEqual(['image/png', DATA]);
  });

  it.each([
    { body: '{"contentType":"image/png","other":1}', type: 'application/json', why: 'it has another member' },
    { body: '[]', type: 'application/json', why: 'it is no object' },
    { body: '{"data":', type: 'application/json', why: 'it is not JSON' },
    { body: envelope, type: 'text/plain', why: 'its content type is not JSON' },
  ])('is a file with lenient if $why', async ({ body, type }) => {
    expect(await turn(body, type)).toEqual([type, Buffer.from(body)]);
  });

  it('is a file without lenient', async () => {
    const got = await turn(envelope, 'application/json', { lenient: false });
    expect(got).toEqual(['application/json', Buffer.from(envelope)]);
  });

  it('is refused with its place if its bytes are not base64', async () => {
    const { origin } = await start(undefined, { lenient: true });
    const refused = await httpRequest(origin, {
      method: 'PUT',
      path: '/v1/files/logo',
      headers: { 'content-type': 'application/json' },
      body: '{"contentType":"image/png","data":"?"}',
    });
    expect(errorOf(refused)).toMatchObject({
      code: 400,
      message: 'The request is not valid. content.data: Must be a string in base64; got "?".',
    });
  });
});
