import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect, createServer as createHttp2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import express from 'express';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { TranscoderOptions } from '../src/options.js';
import { createTranscoder, type Transcoder } from '../src/transcoder.js';
import { errorOf, httpRequest, reasonOf } from './support/http-request.js';
import { libraryDescriptorSet } from './support/library-contract.js';
import { LibraryServer, MEMBER } from './support/library-server.js';
import { listening } from './support/opening.js';

/** A log that keeps the causes of errors. */
function logOfCauses() {
  const causes: unknown[] = [];
  const ignore = (): void => undefined;
  const error = ({ err }: { err?: unknown }): void => void causes.push(err);
  return { causes, log: { debug: ignore, info: ignore, warn: ignore, error } };
}

describe('an application around the transcoder', () => {
  /** Serves one path itself and leaves the others to the transcoder, all behind the same middleware. */
  async function serve(log?: TranscoderOptions['log']): Promise<string> {
    const options = { descriptorSet: libraryDescriptorSet, upstream: new LibraryServer() };
    const transcoder = createTranscoder({ ...options, ...(log && { log }), answeredLevel: 'info' });
    const app = express();
    app.use((_, response, next) => {
      response.setHeader('Vary', 'Origin');
      next();
    });
    app.get('/health', (request, response) => {
      transcoder.respond(request, response, () => ({ status: 204, headers: {}, routine: true }));
    });
    app.use(transcoder.handler);
    return listening(createServer(app));
  }

  it('gets the requests to unknown paths, even with Expect: 100-continue', async () => {
    const options = { descriptorSet: libraryDescriptorSet, upstream: new LibraryServer() };
    const { handler, onCheckContinue } = createTranscoder(options);
    const server = createServer((request, response) => {
      handler(request, response, () => response.writeHead(418).end());
    });
    server.on('checkContinue', (request, response) => {
      onCheckContinue(request, response, () => response.writeHead(418).end());
    });
    const origin = await listening(server);
    const statusOf = async (path: string, headers: Record<string, string> = {}): Promise<number> =>
      (await httpRequest(origin, { path, headers: { authorization: MEMBER, ...headers } })).status;
    const expecting = { expect: '100-continue' };
    await expect(statusOf('/nowhere')).resolves.toBe(418);
    await expect(statusOf('/nowhere', expecting)).resolves.toBe(418);
    await expect(statusOf('/v1/shelves/1')).resolves.toBe(200);
    await expect(statusOf('/v1/shelves/1', expecting)).resolves.toBe(200);
  });

  it('keeps the Vary header of its middleware', async () => {
    const origin = await serve();
    const got = await httpRequest(origin, { path: '/v1/shelves/1', headers: { authorization: MEMBER } });
    expect(got.headers.vary).toBe('Origin, Authorization');
    expect((await httpRequest(origin, { path: '/health' })).headers.vary).toBe('Origin');
  });

  it('that replaces writeHead, such as a cache, finds all headers among those that are set', async () => {
    const { handler } = createTranscoder({
      descriptorSet: libraryDescriptorSet,
      upstream: new LibraryServer(),
    });
    let found = {};
    const server = createServer((request, response) => {
      const writeHead = response.writeHead.bind(response) as (...args: unknown[]) => ServerResponse;
      response.writeHead = (...args: unknown[]) => {
        found = response.getHeaders();
        return writeHead(...args);
      };
      handler(request, response);
    });
    const headers = { authorization: MEMBER };
    const reply = await httpRequest(await listening(server), { path: '/v1/shelves/1', headers });
    expect(found).toMatchObject({
      'content-type': 'application/json',
      etag: reply.headers.etag,
      'x-request-id': reply.headers['x-request-id'],
      vary: 'Authorization',
    });
  });

  it('has the log lines about its routine replies at debug', async () => {
    const lines: string[] = [];
    const at = (level: string) => (): void => void lines.push(level);
    const origin = await serve({
      debug: at('debug'),
      info: at('info'),
      warn: at('warn'),
      error: at('error'),
    });
    await httpRequest(origin, { path: '/health' });
    await httpRequest(origin, { path: '/v1/shelves/1', headers: { authorization: MEMBER } });
    expect(lines).toEqual(['debug', 'info']);
  });
});

describe('the transcoder as Express middleware', () => {
  function transcoderWith(options: Partial<TranscoderOptions>): Transcoder['handler'] {
    const upstream = new LibraryServer();
    return createTranscoder({ descriptorSet: libraryDescriptorSet, upstream, ...options }).handler;
  }

  async function startExpress(mount: string, options: Partial<TranscoderOptions>): Promise<string> {
    const app = express();
    app.use(mount, transcoderWith(options));
    app.use((_request, response) => void response.status(418).end());
    return listening(createServer(app));
  }

  const headers = { authorization: MEMBER, 'content-type': 'application/json' };

  it.each([
    { mount: '/', options: {}, prefix: '' },
    { mount: '/api', options: { basePath: '/api' }, prefix: '/api' },
  ])('serves its contract at $mount', async ({ mount, options, prefix }) => {
    const origin = await startExpress(mount, options);
    const created = await httpRequest(origin, {
      method: 'POST',
      path: `${prefix}/v1/shelves`,
      headers,
      body: '{}',
    });
    expect(created).toMatchObject({
      status: 201,
      headers: { location: `${prefix}/v1/shelves/poems%20%26%20prose` },
    });
    const wrong = await httpRequest(origin, { method: 'PUT', path: `${prefix}/v1/shelves`, headers });
    expect(wrong.status).toBe(405);
  });

  const shelf = { method: 'POST', path: '/v1/shelves', headers, body: '{"theme":"x"}' };

  it('leaves the bodies of requests to unknown paths to later middleware', async () => {
    const app = express().use(transcoderWith({}), express.json(), (request, response) => {
      response.send(request.body);
    });
    const origin = await listening(createServer(app));
    expect((await httpRequest(origin, { ...shelf, path: '/elsewhere' })).text).toBe('{"theme":"x"}');
    expect((await httpRequest(origin, shelf)).status).toBe(201);
  });

  it.each([
    { what: 'parsed', body: shelf.body },
    { what: 'found empty', body: '' },
  ])(
    'tells the developer, but no client, that other middleware has already $what the body',
    async ({ body }) => {
      const { causes, log } = logOfCauses();
      const transcoder = transcoderWith({ log });
      const origin = await listening(createServer(express().use(express.json(), transcoder)));
      const response = await httpRequest(origin, { ...shelf, body });
      expect(errorOf(response)).toMatchObject({ code: 500, message: 'An internal error occurred.' });
      expect(String(causes)).toContain('Mount the transcoder first; it passes on what is not its own.');
      expect(causes).toHaveLength(1);
    },
  );

  describe('after express.raw()', () => {
    const read = express.raw({ type: () => true, limit: 1_000 });

    it.each([
      { what: 'as sent', body: shelf.body, coding: 'identity' },
      { what: 'decoded once', body: gzipSync(shelf.body), coding: 'gzip' },
    ])('takes the body $what', async ({ body, coding }) => {
      const origin = await listening(createServer(express().use(read, transcoderWith({}))));
      const coded = { ...headers, 'content-encoding': coding };
      const response = await httpRequest(origin, { ...shelf, headers: coded, body });
      expect(response.status).toBe(201);
      expect(JSON.parse(response.text)).toMatchObject({ theme: 'x' });
    });

    it.each([
      { what: 'as sent', body: 'x'.repeat(101), coding: 'identity' },
      { what: 'decoded', body: gzipSync('x'.repeat(101)), coding: 'gzip' },
    ])('refuses a body that is too large $what', async ({ body, coding }) => {
      const origin = await listening(
        createServer(express().use(read, transcoderWith({ maxBodyBytes: 100 }))),
      );
      const coded = { ...headers, 'content-encoding': coding };
      const response = await httpRequest(origin, { ...shelf, headers: coded, body });
      expect(response.status).toBe(413);
      expect(reasonOf(response)).toBe('REQUEST_TOO_LARGE');
    });
  });
});

it('a handler given to node:http2 tells the developer in the log, and clients only that the server is at fault', async () => {
  const { causes, log } = logOfCauses();
  const upstream = new LibraryServer();
  const { handler } = createTranscoder({ descriptorSet: libraryDescriptorSet, upstream, log });
  // The types refuse this server.
  const server = createHttp2Server(handler as never).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  onTestFinished(() => {
    client.destroy();
    server.close();
  });
  const stream = client.request({ ':path': '/v1/shelves/1' });
  const [headers] = (await once(stream, 'response')) as [{ ':status': number }];
  expect(headers[':status']).toBe(500);
  expect(JSON.parse(await text(stream))).toMatchObject({ error: { message: 'An internal error occurred.' } });
  expect(String(causes)).toContain('it serves those of node:http and node:https');
  expect(causes).toHaveLength(1);
});
