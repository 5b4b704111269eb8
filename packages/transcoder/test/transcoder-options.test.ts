import { once } from 'node:events';
import { createServer, type ServerOptions } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { Metadata, status } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { createGateway, type GatewayOptions } from '../../../src/gateway/gateway.js';
import { rawExchange, startGateway, type RunningGateway, type Way } from './support/library-gateway.js';
import { errorOf, httpRequest, reasonOf, type HttpResponse } from '../../../test/support/http-request.js';
import { libraryDescriptorSet } from './support/library-contract.js';
import { LibraryServer, MEMBER } from './support/library-server.js';

const running: RunningGateway[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((gateway) => gateway.close()));
});

async function start(
  options: Partial<GatewayOptions>,
  way: Way = 'in memory',
  limits: ServerOptions = {},
): Promise<RunningGateway> {
  const gateway = await startGateway(way, options, limits);
  running.push(gateway);
  return gateway;
}

const asMember = ({ origin }: RunningGateway, path: string, method = 'GET'): Promise<HttpResponse> =>
  httpRequest(origin, { method, path, headers: { authorization: MEMBER } });

describe('a base path', () => {
  it.each(['/api', '/a/b-c_d.e~1'])('%s is before all paths and places', async (basePath) => {
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
    expect((await httpRequest(origin, { path: `${basePath}/healthz` })).status).toBe(200);
  });

  it.each([
    '/v1/shelves/1',
    '/healthz',
    '/api',
    '/apix/v1/shelves/1',
    '/API/v1/shelves/1',
    '/api//v1/shelves/1',
  ])('leaves %s unknown', async (path) => {
    const gateway = await start({ basePath: '/api' });
    const response = await asMember(gateway, path);
    expect(response.status).toBe(404);
    expect(reasonOf(response)).toBe('PATH_UNKNOWN');
  });

  it.each(['api', '/api/', '/', '/a//b', '/a b', '/:a', '/a*', '/ä'])(
    '%s is refused at start',
    (basePath) => {
      const options = {
        descriptorSet: libraryDescriptorSet,
        upstream: new LibraryServer(),
        deadlineMs: 1,
        realm: 'x',
      };
      expect(() => createGateway({ ...options, basePath })).toThrow(`"${basePath}" is not a base path`);
    },
  );
});

describe('an upstream that breaks its word', () => {
  it.each([
    { why: 'rejects', unary: () => Promise.reject(new Error('secret')) },
    {
      why: 'throws',
      unary: () => {
        throw new Error('secret');
      },
    },
    {
      why: 'answers OK without a message',
      unary: () => Promise.resolve({ code: status.OK, details: '', trailers: new Metadata() }),
    },
  ])('and $why is INTERNAL in fixed words, with one line in the log', async ({ unary }) => {
    const gateway = await start({ upstream: { unary } });
    const response = await asMember(gateway, '/v1/shelves/1');
    expect(response.status).toBe(500);
    expect(errorOf(response)).toMatchObject({ status: 'INTERNAL', message: 'An internal error occurred.' });
    expect(gateway.log.filter(({ level }) => level === 'error')).toMatchObject([
      { fields: { requestId: response.headers['x-request-id'], err: expect.any(Error) as Error } },
    ]);
  });

  it.each([
    { why: 'rejects', unary: () => Promise.reject(new Error('secret')), http: 500 },
    {
      why: 'is away',
      unary: () => Promise.resolve({ code: status.UNAVAILABLE, details: 'secret', trailers: new Metadata() }),
      http: 503,
    },
    {
      why: 'answers OK without a message',
      unary: () => Promise.resolve({ code: status.OK, details: '', trailers: new Metadata() }),
      http: 503,
    },
  ])('and $why makes the health $http', async ({ unary, http }) => {
    const response = await asMember(await start({ upstream: { unary } }), '/healthz');
    expect(response.status).toBe(http);
    expect(response.text).not.toContain('secret');
  });
});

describe('a log', () => {
  it('has one line for each answer, with the request id and without what was sent', async () => {
    let time = 0;
    const gateway = await start({ now: () => (time += 5) });
    await asMember(gateway, '/v1/shelves/secret?secret=1');
    await httpRequest(gateway.origin, { path: '/nowhere/secret' });
    await httpRequest(gateway.origin, { path: '/healthz' });
    expect(gateway.log).toEqual([
      {
        level: 'info',
        message: 'request answered',
        fields: { requestId: 'made-1', method: 'GET', status: 400, ms: expect.any(Number) as number },
      },
      {
        level: 'info',
        message: 'request answered',
        fields: { requestId: 'made-2', method: 'GET', status: 404, ms: expect.any(Number) as number },
      },
      {
        level: 'debug',
        message: 'request answered',
        fields: { requestId: 'made-3', method: 'GET', status: 200, ms: expect.any(Number) as number },
      },
    ]);
    expect(JSON.stringify(gateway.log)).not.toContain('secret');
  });
});

describe('a gateway without further options', () => {
  it('makes request ids and writes no log', async () => {
    const gateway = createGateway({
      descriptorSet: libraryDescriptorSet,
      upstream: new LibraryServer(),
      deadlineMs: 1000,
      realm: 'x',
    });
    const server = createServer(gateway.onRequest);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const response = await httpRequest(origin, {
      path: '/v1/garble?message=CoD',
      headers: { authorization: MEMBER },
    });
    expect(response.status).toBe(500);
    expect(response.headers['x-request-id']).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
    server.close();
  });
});

describe('what is not HTTP', () => {
  it.each([
    { bytes: 'nonsense\r\n\r\n', http: 400, reason: 'REQUEST_MALFORMED', why: 'there is no request line' },
    {
      bytes: 'GET /v1/shelves/1\u00e9 \r\n\r\n',
      http: 400,
      reason: 'REQUEST_MALFORMED',
      why: 'the version is missing',
    },
    {
      bytes: 'GET / HTTP/1.1\r\nHost: x\r\na b: c\r\n\r\n',
      http: 400,
      reason: 'REQUEST_MALFORMED',
      why: 'a header name has a blank',
    },
    {
      bytes:
        'POST /v1/shelves HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
      http: 400,
      reason: 'REQUEST_MALFORMED',
      why: 'the length is said twice',
    },
    {
      bytes: 'POST /v1/shelves HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
      http: 400,
      reason: 'REQUEST_MALFORMED',
      why: 'a chunk has no length',
    },
    {
      bytes: `GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`,
      http: 431,
      reason: 'HEADERS_TOO_LARGE',
      why: 'the headers are too large',
    },
  ])('is $http in the shape of all errors: $why', async ({ bytes, http, reason }) => {
    const gateway = await start({});
    const text = await rawExchange(gateway.origin, bytes);
    expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${http} `));
    const [head = '', body = ''] = text.split('\r\n\r\n');
    expect(errorOf({ text: body }).code).toBe(http);
    expect(reasonOf({ text: body })).toBe(reason);
    expect(head).toContain('X-Request-Id: made-1\r\n');
    expect(head).toContain(`Content-Length: ${Buffer.byteLength(body)}`);
    await gateway.close();
    expect(gateway.log).toMatchObject([
      { level: 'info', message: 'request answered', fields: { requestId: 'made-1', status: http } },
    ]);
  });

  it('ends the connection on which a good request still waits, which the log tells with its id', async () => {
    const gateway = await start({});
    const good = `GET /v1/hang HTTP/1.1\r\nHost: x\r\nAuthorization: ${MEMBER}\r\nX-Request-Id: good\r\n\r\n`;
    await expect(rawExchange(gateway.origin, `${good}nonsense\r\n\r\n`)).resolves.toBe('');
    await gateway.close();
    expect(gateway.log).toEqual([
      {
        level: 'info',
        message: 'connection destroyed',
        fields: { requestId: 'good', method: 'GET', ms: expect.any(Number) as number },
      },
    ]);
  });
});

describe('a body that does not come to its end', () => {
  const beginning =
    'POST /v1/shelves HTTP/1.1\r\nHost: x\r\nX-Request-Id: mine\r\nContent-Length: 9\r\n\r\n{';

  it('is 408 under the id of its request, in answer and log', async () => {
    const gateway = await start({}, 'in memory', {
      requestTimeout: 50,
      headersTimeout: 50,
      connectionsCheckingInterval: 10,
    });
    const text = await rawExchange(gateway.origin, beginning);
    expect(text).toMatch(/^HTTP\/1\.1 408 /);
    expect(text).toContain('\r\nX-Request-Id: mine\r\n');
    expect(reasonOf({ text: text.split('\r\n\r\n')[1] ?? '' })).toBe('REQUEST_TIMED_OUT');
    await gateway.close();
    expect(gateway.log).toMatchObject([
      { message: 'request answered', fields: { requestId: 'mine', method: 'POST', status: 408 } },
    ]);
  });

  it('is a caller gone where the connection broke', async () => {
    const gateway = await start({});
    const socket = connect(Number(new URL(gateway.origin).port), '127.0.0.1');
    socket.write(beginning.replace('Host: x', 'Host: x\r\nExpect: 100-continue'));
    await once(socket, 'data');
    socket.resetAndDestroy();
    await expect
      .poll(() => gateway.log)
      .toMatchObject([
        { level: 'info', message: 'caller gone', fields: { requestId: 'mine', method: 'POST' } },
      ]);
  });
});
