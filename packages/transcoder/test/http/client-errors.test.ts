import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { TranscoderOptions } from '../../src/options.js';
import { createTranscoder } from '../../src/transcoder.js';
import { firstOf, libraryDescriptorSet } from '../support/library-contract.js';
import { listening } from '../support/opening.js';
import { errorOf, fieldsOf, reasonOf, rawExchange } from '../support/http-request.js';
import { LibraryServer, MEMBER } from '../support/library-server.js';
import { sharedTranscoder } from '../support/shared-transcoder.js';

const gateway = sharedTranscoder();

const BOOK = '/v1/shelves/1';
const GET = `GET ${BOOK} HTTP/1.1`;

/** A request head with the credentials of a member. */
const head = (line: string, ...lines: string[]): string =>
  [line, `Authorization: ${MEMBER}`, ...lines, '', ''].join('\r\n');
const CLOSE = 'Connection: close';
const chunked = (line: string, ...chunks: string[]): string =>
  head(line, 'Host: x', 'Content-Type: application/json', 'Transfer-Encoding: chunked') + chunks.join('');

interface RawResponse {
  readonly status: number;
  readonly head: string;
  readonly text: string;
}

/** The responses on one connection, in order. Each has a `Content-Length`. */
function responsesOf(bytes: string): RawResponse[] {
  const responses: RawResponse[] = [];
  for (let rest = bytes; rest !== '';) {
    const end = rest.indexOf('\r\n\r\n') + 4;
    const first = rest.slice(0, end);
    const length = Number(/^content-length: (\d+)\r$/im.exec(first)?.[1] ?? 0);
    responses.push({
      status: Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1]),
      head: first,
      text: rest.slice(end, end + length),
    });
    rest = rest.slice(end + length);
  }
  return responses;
}

async function exchange(bytes: string): Promise<RawResponse[]> {
  return responsesOf(await rawExchange(gateway.origin, Buffer.from(bytes, 'latin1')));
}

async function onlyResponse(bytes: string): Promise<RawResponse> {
  const responses = await exchange(bytes);
  expect(responses).toHaveLength(1);
  return firstOf(responses);
}

/** Checks the headers and the shape that every error response has. */
function expectErrorShape(response: RawResponse): void {
  const id = /^x-request-id: (.+)\r$/im.exec(response.head)?.[1];
  expect(response.head).toMatch(/^cache-control: no-store\r$/im);
  expect(response.head).toMatch(/^date: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT\r$/im);
  expect(response.head).toMatch(new RegExp(`^content-length: ${response.text.length}\\r$`, 'im'));
  expect(response.head).toMatch(/^content-type: application\/json\r$/im);
  expect(errorOf(response)).toMatchObject({
    code: response.status,
    details: expect.arrayContaining([
      { '@type': 'type.googleapis.com/google.rpc.RequestInfo', requestId: id },
    ]) as unknown,
  });
}

describe('a request that breaks a rule of HTTP', () => {
  const refused = (http: number, reason: string, why: string, bytes: string, ...fields: string[]) => {
    return { http, reason, why, bytes, fields };
  };
  const malformed = (why: string, bytes: string, ...fields: string[]) =>
    refused(400, 'REQUEST_MALFORMED', why, bytes, ...fields);
  const post = 'POST /v1/shelves HTTP/1.1';

  it.each([
    malformed('Host is missing', head(GET, CLOSE), 'host'),
    malformed('Host is repeated', head(GET, 'Host: a', 'Host: a', CLOSE), 'host'),
    malformed('Host is repeated in HTTP/1.0', head(`GET ${BOOK} HTTP/1.0`, 'Host: a', 'Host: b'), 'host'),
    ...[
      ...['a b', 'a, b', 'a/b', 'a@b', 'a?b', 'a:b', 'a:80:80', 'a\\b'],
      ...['%zz', '[::1', '[g::]', '[]', '::1', '\u00e4'],
    ].map((host) => malformed(`Host is ${host}`, head(GET, `Host: ${host}`, CLOSE), 'host')),
    malformed(
      'Host is malformed and the path is unknown',
      head('GET /nowhere HTTP/1.1', 'Host: a b', CLOSE),
      'host',
    ),
    malformed('its version is HTTP/2.0', head(`GET ${BOOK} HTTP/2.0`, 'Host: x')),
    malformed('its version is HTTP/0.9', `GET ${BOOK}\r\n\r\n`),
    malformed('its target has a fragment', head(`GET ${BOOK}#a HTTP/1.1`, 'Host: x', CLOSE)),
    ...['http://', 'HTTP://:80', 'https://a@b', 'http://['].map((origin) =>
      malformed(`its target begins with ${origin}`, head(`GET ${origin}${BOOK} HTTP/1.1`, 'Host: x', CLOSE)),
    ),
    ...['/', `${BOOK}?`].map((start) =>
      refused(
        414,
        'TARGET_TOO_LONG',
        `8,192 bytes follow ${start} in its target`,
        head(`GET ${start}${'x'.repeat(8_192)} HTTP/1.1`, 'Host: x', CLOSE),
      ),
    ),
    refused(
      431,
      'HEADERS_TOO_LARGE',
      'its target is too long for the parser',
      head(`GET /${'x'.repeat(20_000)} HTTP/1.1`, 'Host: x', CLOSE),
    ),
    ...['gzip, chunked', 'GZIP;q=1 ,, chunked', 'identity, chunked'].map((coding) =>
      refused(
        501,
        'TRANSFER_CODING_UNSUPPORTED',
        `its transfer coding is ${coding}`,
        `${head(post, 'Host: x', CLOSE, `Transfer-Encoding: ${coding}`)}0\r\n\r\n`,
      ),
    ),
    refused(
      501,
      'TRANSFER_CODING_UNSUPPORTED',
      'its transfer codings are on two lines',
      `${head(post, 'Host: x', CLOSE, 'Transfer-Encoding: gzip', 'Transfer-Encoding: chunked')}0\r\n\r\n`,
    ),
    ...['gzip', 'identity', 'chunked, gzip', 'chunked, chunked', 'chunked;a=b', '', ','].map((coding) =>
      malformed(
        `its transfer coding is "${coding}"`,
        head(post, 'Host: x', `Transfer-Encoding: ${coding}`),
        'transfer-encoding',
      ),
    ),
    malformed(
      'the body of a GET has no delimiter',
      head(GET, 'Host: x', 'Transfer-Encoding: gzip'),
      'transfer-encoding',
    ),
    malformed(
      'it is HTTP/1.0 with a transfer coding',
      `${head('POST /v1/shelves HTTP/1.0', 'Connection: keep-alive', 'Transfer-Encoding: chunked')}0\r\n\r\n`,
      'transfer-encoding',
    ),
    malformed(
      'Transfer-Encoding follows a length',
      head(post, 'Host: x', 'Content-Length: 5', 'Transfer-Encoding: chunked'),
      'transfer-encoding',
    ),
    malformed(
      'a length follows Transfer-Encoding',
      head(post, 'Host: x', 'Transfer-Encoding: chunked', 'Content-Length: 5'),
      'content-length',
    ),
    malformed(
      'Content-Length is repeated',
      head(post, 'Host: x', 'Content-Length: 0', 'Content-Length: 0'),
      'content-length',
    ),
    ...['+1', '1, 1', '0x1', '-1', ''].map((length) =>
      malformed(
        `Content-Length is "${length}"`,
        head(post, 'Host: x', `Content-Length: ${length}`),
        'content-length',
      ),
    ),
    malformed('it is megabytes of garbage', 'nonsense '.repeat(500_000)),
    malformed('its body is not valid chunks', chunked(post, '2\r\n{}\r\n', 'zz\r\n\r\n')),
    refused(
      413,
      'REQUEST_TOO_LARGE',
      'its chunk extensions are too large',
      chunked(post, `1;${'x'.repeat(20_000)}\r\n`),
    ),
    refused(
      405,
      'METHOD_NOT_ALLOWED',
      'it is a CONNECT',
      head('CONNECT example.org:443 HTTP/1.1', 'Host: example.org:443'),
    ),
    malformed('it is a CONNECT without Host', head('CONNECT example.org:443 HTTP/1.1'), 'host'),
  ])('is $http $reason if $why', async ({ bytes, http, reason, fields }) => {
    const response = await onlyResponse(bytes);
    expect(response.status).toBe(http);
    expect(reasonOf(response)).toBe(reason);
    expect(fieldsOf(response)).toEqual(fields);
    expect(response.head).toMatch(/^connection: close\r$/im);
    expectErrorShape(response);
  });

  it('keeps its id and gets the methods of the server in Allow if it is a CONNECT', async () => {
    const { head: headers } = await onlyResponse(
      head('CONNECT a:1 HTTP/1.1', 'Host: a:1', 'X-Request-Id: mine'),
    );
    expect(headers).toMatch(/^x-request-id: mine\r$/im);
    expect(headers).toMatch(/^allow: (?=.*GET, HEAD)(?=.*POST)(?=.*OPTIONS)/im);
    expect(gateway.log.at(-1)).toMatchObject({
      message: 'request refused',
      fields: { requestId: 'mine', method: 'CONNECT', status: 405 },
    });
  });
});

describe('a request that HTTP allows', () => {
  it.each<[why: string, bytes: string]>([
    ...[
      ...['x', 'X-1.example_.~', 'x:8080', 'x:', '', 'a%2Fb'],
      ...['127.0.0.1:1', '[::1]', '[::ffff:1.2.3.4]:80', '[v1.a:b]'],
    ].map((host): [string, string] => [`Host is "${host}"`, head(GET, `Host: ${host}`, CLOSE)]),
    ['it is HTTP/1.0 without Host', head(`GET ${BOOK} HTTP/1.0`)],
    ['its headers are named like members', head(GET, 'Host: x', 'constructor: a', '__proto__: b', CLOSE)],
    [
      'its target has 8,192 bytes',
      head(`GET ${'/v1/shelves/'.padEnd(8_192, 'x')} HTTP/1.1`, 'Host: x', CLOSE),
    ],
    ['it offers WebSocket', head(GET, 'Host: x', 'Connection: close, upgrade', 'Upgrade: websocket')],
    [
      'it offers HTTP/2',
      head(
        GET,
        'Host: x',
        'Connection: close, Upgrade, HTTP2-Settings',
        'Upgrade: h2c',
        'HTTP2-Settings: AAMAAABkAAQAAP__',
      ),
    ],
    [
      'its list of transfer codings has empty members',
      `${head(
        'PUT /v1/echo/items HTTP/1.1',
        'Host: x',
        CLOSE,
        'Content-Type: application/json',
        'Transfer-Encoding: , Chunked',
      )}2\r\n[]\r\n0\r\n\r\n`,
    ],
  ])('is served if %s', async (_, bytes) => {
    const response = await onlyResponse(bytes);
    expect(response.status).toBe(200);
    expect(response.head).toMatch(/^connection: close\r$/im);
  });
});

describe('what follows a request', () => {
  const waits = (id: string): string =>
    head('GET /v1/hang HTTP/1.1', 'Host: x', 'Request-Timeout: 0.05', `X-Request-Id: ${id}`);
  const unknown = head('GET /nowhere HTTP/1.1', 'Host: x');
  const broken = chunked('POST /v1/shelves HTTP/1.1', 'zz\r\n\r\n');
  const garbage = 'nonsense\r\n\r\n';
  const tunnel = head('CONNECT a:1 HTTP/1.1', 'Host: a:1');

  it.each<[what: string, bytes: string, statuses: number[]]>([
    ['garbage', waits('good') + garbage, [504]],
    ['garbage after the last request', head(GET, 'Host: x', CLOSE) + garbage, [200]],
    ['garbage after a body', chunked('PUT /v1/echo/items HTTP/1.1', '2\r\n[]\r\n0\r\n\r\n', garbage), [200]],
    ['garbage after several requests', waits('a') + waits('b') + garbage, [504, 504]],
    ['garbage after an immediate response', unknown + garbage, [404]],
    ['garbage after a queued response', waits('a') + unknown + garbage, [504, 404]],
    ['a malformed body', waits('a') + broken, [504, 400]],
    ['a malformed body for an unknown path', broken.replace('/v1/', '/v0/'), [400]],
    [
      'a malformed body during a guard check',
      broken.replace('Host:', 'Content-Encoding: rot13\r\nHost:'),
      [400],
    ],
    ['a CONNECT', waits('a') + tunnel, [504]],
    ['a CONNECT after an immediate response', unknown + tunnel, [404]],
  ])('neither costs the request its response nor adds another one: %s', async (_, bytes, statuses) => {
    const responses = await exchange(bytes);
    expect(responses.map(({ status }) => status)).toEqual(statuses);
  });

  it('is not read if the end of a body is unclear, whether Node or the transcoder refuses that body', async () => {
    const unclear = head(GET, 'Transfer-Encoding: ');
    const [first, ...rest] = await exchange(waits('a') + unclear + unknown);
    expect(first?.status).toBe(504);
    // Node 20 passes the request on. Node 24 closes the connection after the response before it.
    expect([[], [400]]).toContainEqual(rest.map(({ status }) => status));
  });

  it('closes the connection, as the last response announces', async () => {
    const [first, last] = await exchange(waits('first') + waits('last') + garbage);
    expect(first?.head).toMatch(/^connection: keep-alive\r$/im);
    expect(last?.head).toMatch(/^connection: close\r$/im);
    expect(
      new Set(gateway.log.slice(-2).map(({ fields }) => [fields['requestId'], fields['status']].join())),
    ).toEqual(new Set(['first,504', 'last,504']));
  });

  it.each([
    { what: 'garbage', first: unknown, then: garbage, statuses: [404, 400] },
    { what: 'a CONNECT', first: unknown, then: tunnel, statuses: [404, 405] },
    {
      what: 'the rest of a body that nobody waited for',
      first: chunked('POST /nowhere HTTP/1.1', '2\r\n{}\r\n'),
      then: 'zz\r\n\r\n',
      statuses: [404],
    },
  ])(
    'gets a response of its own after the first one, unless it belongs to the request: $what',
    async ({ first, then, statuses }) => {
      const socket = connect(Number(new URL(gateway.origin).port), '127.0.0.1');
      const chunks: Buffer[] = [];
      socket.on('data', (chunk) => chunks.push(chunk)).write(first);
      await once(socket, 'data');
      socket.write(then);
      await once(socket, 'close');
      expect(responsesOf(Buffer.concat(chunks).toString()).map(({ status }) => status)).toEqual(statuses);
    },
  );
});

/** Starts a server whose time limits for requests are far off. */
async function startPatient(options: Partial<TranscoderOptions> = {}) {
  const upstream = new LibraryServer();
  const transcoder = createTranscoder({ descriptorSet: libraryDescriptorSet, upstream, ...options });
  const server = createServer({ connectionsCheckingInterval: 10 }, transcoder.handler);
  const origin = await listening(server.on('clientError', transcoder.onClientError));
  /** Ends the requests that have not arrived whole. */
  const endRequests = (): void => {
    server.headersTimeout = 1;
    server.requestTimeout = 1;
  };
  return { server, origin, endRequests };
}

describe('a client that keeps sending after its refusal', () => {
  it('is cut off at the time limit', async () => {
    const { origin, endRequests } = await startPatient();
    const port = Number(new URL(origin).port);
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    socket.on('error', () => undefined).write('nonsense');
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 400 /);
    endRequests();
    const writing = setInterval(() => socket.write('nonsense'), 10);
    // Writes fail once the server has closed the connection. The socket closes only afterwards.
    await new Promise((resolve) => socket.once('close', resolve));
    clearInterval(writing);
  });
});

describe('a body that stays incomplete', () => {
  const beginning =
    'POST /v1/shelves HTTP/1.1\r\nHost: x\r\nX-Request-Id: mine\r\nContent-Length: 9\r\n\r\n{';

  it('is 408 with the id of its request, in the response and the log', async () => {
    const lines: object[] = [];
    const ignore = (): void => undefined;
    const info = (fields: object, message: string): void => void lines.push({ fields, message });
    const { server, origin, endRequests } = await startPatient({
      requestIdOf: String,
      log: { debug: ignore, info, warn: ignore, error: ignore },
    });
    server.once('request', endRequests);
    const text = await rawExchange(origin, beginning);
    expect(text).toMatch(/^HTTP\/1\.1 408 /);
    expect(text).toContain('\r\nX-Request-Id: mine\r\n');
    expect(reasonOf({ text: text.split('\r\n\r\n')[1] ?? '' })).toBe('REQUEST_TIMED_OUT');
    expect(lines).toMatchObject([
      { message: 'request refused', fields: { requestId: 'mine', method: 'POST', status: 408 } },
    ]);
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
