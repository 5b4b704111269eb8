import { createServer } from 'node:http';
import { gzipSync } from 'node:zlib';
import express from 'express';
import { describe, expect, it } from 'vitest';
import { Code } from '../src/gen/google/rpc/code_pb.js';
import type { TranscoderOptions } from '../src/options.js';
import type { ReplyMetadata, UnaryReply, Upstream } from '../src/upstream.js';
import { createTranscoder, type Transcoder } from '../src/transcoder.js';
import { type RunningTranscoder, startTranscoder } from './support/library-transcoder.js';
import { errorOf, httpRequest, reasonOf, type HttpResponse, rawExchange } from './support/http-request.js';
import { libraryDescriptorSet } from './support/library-contract.js';
import { LibraryServer, MEMBER } from './support/library-server.js';
import { listening, opening } from './support/opening.js';

async function start(...given: Parameters<typeof startTranscoder>): Promise<RunningTranscoder> {
  return opening(await startTranscoder(...given));
}

const asMember = ({ origin }: RunningTranscoder, path: string, method = 'GET'): Promise<HttpResponse> =>
  httpRequest(origin, { method, path, headers: { authorization: MEMBER } });

describe('a base path', () => {
  it.each(['/api', '/a/b-c_d.e~1'])('%s precedes all paths and locations', async (basePath) => {
    const { origin } = await start({ basePath });
    const headers = { authorization: MEMBER, 'content-type': 'application/json' };
    const created = await httpRequest(origin, {
      method: 'POST',
      path: `${basePath}/v1/shelves`,
      headers,
      body: '{}',
    });
    expect(created).toMatchObject({
      status: 201,
      headers: { location: `${basePath}/v1/shelves/poems%20%26%20prose` },
    });
  });

  it.each(['/v1/shelves/1', '/api', '/apix/v1/shelves/1', '/API/v1/shelves/1', '/api//v1/shelves/1'])(
    'leaves the path %s unknown',
    async (path) => {
      const gateway = await start({ basePath: '/api' });
      const response = await asMember(gateway, path);
      expect(response.status).toBe(404);
      expect(reasonOf(response)).toBe('PATH_UNKNOWN');
    },
  );

  it.each(['api', '/api/', '/', '/a//b', '/a b', '/:a', '/a*', '/ä'])(
    '%s is refused at start',
    (basePath) => {
      const options = { descriptorSet: libraryDescriptorSet, upstream: new LibraryServer(), basePath };
      expect(() => createTranscoder(options)).toThrow(`"${basePath}" is not a base path`);
    },
  );
});

describe('an upstream that violates its interface', () => {
  it.each([
    { why: 'rejects', unary: () => Promise.reject(new Error('secret')) },
    {
      why: 'throws',
      unary: () => {
        throw new Error('secret');
      },
    },
    {
      why: 'returns OK without a message',
      unary: () => ({ code: Code.OK, details: '', answered: true }),
    },
  ])('is INTERNAL with a fixed message and one log line if it $why', async ({ unary }) => {
    const gateway = await start({ upstream: { unary }, maxRequests: 1 });
    const response = await asMember(gateway, '/v1/shelves/1');
    expect(response.status).toBe(500);
    expect(errorOf(response)).toMatchObject({ status: 'INTERNAL', message: 'An internal error occurred.' });
    expect(gateway.log.filter(({ level }) => level === 'error')).toMatchObject([
      { fields: { requestId: response.headers['x-request-id'], err: expect.any(Error) as Error } },
    ]);
    // Its place is free again.
    expect((await asMember(gateway, '/v1/shelves/1')).status).toBe(500);
  });
});

describe('a log', () => {
  const ms = expect.any(Number) as number;

  it('has one line for each response, with nothing of the request but its method and path', async () => {
    let time = 0;
    const gateway = await start({ now: () => (time += 5) });
    await asMember(gateway, '/v1/shelves/x?secret=1');
    await httpRequest(gateway.origin, { path: '/nowhere' });
    await asMember(gateway, '/v1/shelves/1');
    const common = { method: 'GET', ms };
    expect(gateway.log).toEqual([
      {
        level: 'info',
        message: 'request refused',
        fields: {
          ...common,
          requestId: 'made-1',
          path: '/v1/shelves/x',
          status: 400,
          reason: 'REQUEST_MALFORMED',
        },
      },
      {
        level: 'info',
        message: 'request refused',
        fields: { ...common, requestId: 'made-2', path: '/nowhere', status: 404, reason: 'PATH_UNKNOWN' },
      },
      {
        level: 'debug',
        message: 'request answered',
        fields: { ...common, requestId: 'made-3', path: '/v1/shelves/1', status: 200 },
      },
    ]);
    expect(JSON.stringify(gateway.log)).not.toContain('secret');
  });

  it('has the lines about successful requests at the given level', async () => {
    const gateway = await start({ answeredLevel: 'info' });
    await asMember(gateway, '/v1/shelves/1');
    expect(gateway.log).toMatchObject([{ level: 'info', fields: { status: 200 } }]);
  });

  it('has the fields that the upstream adds, such as the caller', async () => {
    const library = new LibraryServer();
    const upstream: Upstream = {
      unary: async (call) => ({ ...(await library.unary(call)), fields: { sub: 'ann' } }),
    };
    const gateway = await start({ upstream });
    await asMember(gateway, '/v1/shelves/1');
    await asMember(gateway, '/v1/shelves/404');
    expect(gateway.log.map(({ fields }) => fields['sub'])).toEqual(['ann', 'ann']);
  });

  it('creates no line at a disabled level', async () => {
    const lines: string[] = [];
    const write = (_fields: object, message: string): void => void lines.push(message);
    const log = { debug: write, info: write, warn: write, error: write };
    const isLevelEnabled = (level: string): boolean => level === 'info';
    const gateway = await start({ log: { ...log, isLevelEnabled } });
    await asMember(gateway, '/v1/shelves/1');
    expect(lines).toEqual([]);
    await httpRequest(gateway.origin, { path: '/nowhere' });
    expect(lines).toEqual(['request refused']);
  });
});

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

describe('a custom reply with a body in pieces', () => {
  async function* pieces(failure?: Error): AsyncGenerator<Uint8Array> {
    yield Buffer.from('one ');
    yield await Promise.resolve(Buffer.from('two'));
    if (failure !== undefined) throw failure;
  }

  it.each([
    { what: 'arrives', body: () => pieces(), text: 'one two', reason: undefined },
    {
      what: 'is cut off and reported as failed if it fails in the middle',
      body: () => pieces(new Error('broken')),
      text: 'cut off',
      reason: 'INTERNAL',
    },
  ])('$what', async ({ body, text, reason }) => {
    const told: object[] = [];
    const transcoder = createTranscoder({
      descriptorSet: libraryDescriptorSet,
      upstream: new LibraryServer(),
      observers: [{ begin: () => ({ end: (outcome) => void told.push(outcome) }) }],
    });
    const server = createServer((request, response) => {
      transcoder.respond(request, response, () => ({ status: 200, headers: {}, body: body() }));
    });
    const response = await fetch(await listening(server));
    expect(await response.text().catch(() => 'cut off')).toBe(text);
    expect(told).toMatchObject([{ status: 200, reason }]);
  });
});

describe('a server that delays requests', () => {
  it('closes the connection of a client that sends CONNECT meanwhile', async () => {
    const options = { descriptorSet: libraryDescriptorSet, upstream: new LibraryServer() };
    const { handler, onConnect } = createTranscoder(options);
    const server = createServer((request, response) => void setImmediate(handler, request, response));
    const origin = await listening(server.on('connect', onConnect));
    const tunnel = 'CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n';
    const nothing = await rawExchange(origin, `GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n${tunnel}`);
    expect(nothing).toBe('');
    expect(await rawExchange(origin, tunnel)).toMatch(/^HTTP\/1\.1 405 /);
  });
});

describe('a transcoder with only the required options', () => {
  it('makes request ids and writes no log', async () => {
    const transcoder = createTranscoder({
      descriptorSet: libraryDescriptorSet,
      upstream: new LibraryServer(),
    });
    const origin = await listening(createServer(transcoder.handler));
    const response = await httpRequest(origin, {
      path: '/v1/garble?message=CoD',
      headers: { authorization: MEMBER },
    });
    expect(response.status).toBe(500);
    expect(response.headers['x-request-id']).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
  });
});

describe('a body that stays incomplete', () => {
  const beginning =
    'POST /v1/shelves HTTP/1.1\r\nHost: x\r\nX-Request-Id: mine\r\nContent-Length: 9\r\n\r\n{';

  it('is 408 with the id of its request, in the response and the log', async () => {
    const gateway = await start(
      { guard: undefined },
      {
        requestTimeout: 50,
        headersTimeout: 50,
        connectionsCheckingInterval: 10,
      },
    );
    const text = await rawExchange(gateway.origin, beginning);
    expect(text).toMatch(/^HTTP\/1\.1 408 /);
    expect(text).toContain('\r\nX-Request-Id: mine\r\n');
    expect(reasonOf({ text: text.split('\r\n\r\n')[1] ?? '' })).toBe('REQUEST_TIMED_OUT');
    await gateway.close();
    expect(gateway.log).toMatchObject([
      { message: 'request refused', fields: { requestId: 'mine', method: 'POST', status: 408 } },
    ]);
  });
});

describe('without a guard', () => {
  it('an unauthenticated client is told what is wrong, and no call is made', async () => {
    const calls: string[] = [];
    const library = new LibraryServer();
    const { origin } = await start({
      guard: undefined,
      upstream: {
        unary: (call) => {
          calls.push(call.path);
          return library.unary(call);
        },
      },
    });
    const response = await httpRequest(origin, { method: 'DELETE', path: '/v1/shelves/1/books/2?wrong=1' });
    expect(response.status).toBe(400);
    expect(calls).toEqual([]);
  });
});

describe('the metadata of a reply', () => {
  const initialMetadata = metadataOf({
    'set-cookie': ['a=1', 'b=2'],
    'x-both': ['first'],
    'x-lines': ['a\r\nset-cookie: c=3', 'a\nb', 'a\0', 'fine'],
    'x-bytes-bin': [new Uint8Array([1])],
  });
  const trailers = metadataOf({ 'x-both': ['last'], 'x-unnamed': ['secret'] });
  const responseHeaders = new Map([
    ['set-cookie', 'Set-Cookie'],
    ['x-both', 'X-Both'],
    ['x-lines', 'Content-Disposition'],
    ['x-bytes-bin', 'X-Bytes'],
    ['x-none', 'X-None'],
  ]);
  const replying = (reply: UnaryReply) => start({ upstream: { unary: () => reply }, responseHeaders });

  it.each([
    { what: 'success', code: Code.OK, message: new Uint8Array(), status: 200 },
    { what: 'failure', code: Code.NOT_FOUND, message: undefined, status: 404 },
  ])('becomes headers of a $what if the options name it, with one line per value', async (given) => {
    const { code, message, status } = given;
    const reply = { code, details: '', answered: true, message, initialMetadata, trailers };
    const { headers, ...response } = await asMember(await replying(reply), '/v1/shelves/1');
    expect(response.status).toBe(status);
    expect(headers['set-cookie']).toEqual(['a=1', 'b=2']);
    expect(headers['x-both']).toBe('first, last');
    expect(headers['content-disposition']).toBe('fine');
    expect(headers).not.toHaveProperty('x-bytes');
    expect(headers).not.toHaveProperty('x-none');
    expect(JSON.stringify(headers)).not.toContain('secret');
  });

  it('is added to the headers that middleware has set', async () => {
    const reply = { code: Code.OK, details: '', answered: true, message: new Uint8Array(), initialMetadata };
    const { handler } = createTranscoder({
      descriptorSet: libraryDescriptorSet,
      upstream: { unary: () => reply },
      responseHeaders,
    });
    const app = express().use((_, response, next) => {
      response.setHeader('Set-Cookie', 'session=1');
      next();
    }, handler);
    const origin = await listening(createServer(app));
    const { headers } = await httpRequest(origin, { path: '/v1/shelves/1' });
    expect(headers['set-cookie']).toEqual(['session=1', 'a=1', 'b=2']);
  });

  it.each([
    { name: 'Content-Type', why: 'is written by the transcoder or by Node' },
    { name: 'eTag', why: 'is written by the transcoder or by Node' },
    { name: 'Transfer-Encoding', why: 'is written by the transcoder or by Node' },
  ])('cannot become $name, which $why', ({ name, why }) => {
    const upstream = new LibraryServer();
    const options = {
      descriptorSet: libraryDescriptorSet,
      upstream,
      responseHeaders: new Map([['a', name]]),
    };
    expect(() => createTranscoder(options)).toThrow(why);
  });
});

it('a misspelt option is refused at start', () => {
  const options = { descriptorSet: libraryDescriptorSet, upstream: new LibraryServer(), maxBodyByte: 1 };
  expect(() => createTranscoder(options)).toThrow('There is no option "maxBodyByte".');
});

function metadataOf(entries: Readonly<Record<string, readonly (string | Uint8Array)[]>>): ReplyMetadata {
  return { get: (key) => entries[key] ?? [] };
}

describe('standard methods', () => {
  it('are treated like all others with standardMethods: false', async () => {
    const { origin } = await start({ standardMethods: false });
    const headers = { authorization: MEMBER, 'content-type': 'application/json' };
    const created = await httpRequest(origin, { method: 'POST', path: '/v1/shelves', headers, body: '{}' });
    expect(created.status).toBe(200);
    expect(created.headers).not.toHaveProperty('location');
    const got = await httpRequest(origin, { path: '/v1/shelves/1', headers });
    expect(got).toMatchObject({ status: 200, headers: { 'cache-control': 'no-store' } });
    expect(got.headers).not.toHaveProperty('etag');
  });
});

describe('JSON', () => {
  it('may have unknown fields in a request if they are ignored, but the query may never have unknown parameters', async () => {
    const { origin } = await start({ json: { ignoreUnknown: true } });
    const headers = { authorization: MEMBER, 'content-type': 'application/json' };
    const request = { method: 'POST', headers, body: '{"theme":"x","colour":"red"}' };
    expect((await httpRequest(origin, { ...request, path: '/v1/shelves' })).status).toBe(201);
    expect((await httpRequest(origin, { ...request, path: '/v1/shelves?colour=red' })).status).toBe(400);
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

  it('passes unknown paths on', async () => {
    const origin = await startExpress('/', {});
    expect((await httpRequest(origin, { path: '/elsewhere' })).status).toBe(418);
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
      const causes: unknown[] = [];
      const ignore = (): void => undefined;
      const error = (fields: object): void => void causes.push((fields as { readonly err?: unknown }).err);
      const transcoder = transcoderWith({ log: { debug: ignore, info: ignore, warn: ignore, error } });
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
