import fc from './support/fast-check.js';
import type { JsonObject } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { feedMessage, startFeed } from './support/feed-server.js';
import { type RunningTranscoder, startTranscoder } from './support/library-transcoder.js';
import { httpRequest, type HttpResponse, rawExchange } from './support/http-request.js';
import { messageType } from './support/library-contract.js';
import { MEMBER } from './support/library-server.js';

let gateway: RunningTranscoder;
beforeAll(async () => {
  gateway = await startTranscoder();
});
afterAll(() => gateway.close());

const RUNS = { numRuns: 200 };
/** Of long responses. */
const FEWER_RUNS = { numRuns: 50 };
const TAKEN_OR_REFUSED = [200, 201, 400];
const DOCUMENTED = [...TAKEN_OR_REFUSED, 204, 401, 404, 405, 412, 413, 414, 415, 501];

/** Bytes as Latin-1 text, without whitespace and NUL, which have a meaning in HTTP itself. */
const bytesOfALine = fc
  .uint8Array({ maxLength: 60 })
  .map((bytes) => Buffer.from(bytes.filter((byte) => ![0, 9, 10, 13, 32].includes(byte))).toString('latin1'));
const urlText = fc.oneof(
  bytesOfALine,
  fc.string({ unit: fc.constantFrom('%', '2', 'F', 'é', '/', ':', '*', '.', '=', '&', '?', '+', '~') }),
  fc.webPath(),
);

/** JSON objects whose keys are mostly names of fields. */
const names = messageType('Everything').fields.flatMap(({ name, jsonName }) => [name, jsonName]);
const nearJson = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.jsonValue({ maxDepth: 2 }),
    fc.constant('1.5s'),
    tie('object'),
    fc.array(tie('object'), { maxLength: 2 }),
  ),
  object: fc.dictionary(
    fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...names) }, { weight: 1, arbitrary: fc.string() }),
    tie('value'),
    { maxKeys: 3 },
  ),
})).object;

function post(body: string | Uint8Array, headers = {}): Promise<HttpResponse> {
  const all = { authorization: MEMBER, 'content-type': 'application/json', ...headers };
  return httpRequest(gateway.origin, { method: 'POST', path: '/v1/echo', headers: all, body });
}

/** The status of the response to a request head. 0 if there is none. */
async function statusOf(head: string): Promise<number> {
  const bytes = Buffer.from(`${head}\r\nHost: x\r\nConnection: close\r\n\r\n`, 'latin1');
  return Number(/^HTTP\/1\.1 (\d{3}) /.exec(await rawExchange(gateway.origin, bytes))?.[1] ?? 0);
}

const AS_MEMBER = `Authorization: ${MEMBER}`;
const headerNames = fc.constantFrom(
  ...['Authorization', 'X-Request-Id', 'Request-Timeout', 'Idempotency-Key', 'Traceparent', 'Tracestate'],
  ...['Content-Type', 'Content-Encoding', 'Content-Length', 'Transfer-Encoding', 'Expect', 'Host'],
  ...['If-Match', 'If-None-Match', 'Accept', 'Cookie'],
);
const lines = fc.array(
  fc.tuple(headerNames, bytesOfALine).map(([name, value]) => `${name}: ${value}`),
  { maxLength: 4 },
);
const parameters = fc.oneof(
  urlText,
  fc.tuple(fc.constantFrom(...names), urlText).map(([name, text]) => `${name}=${text}`),
);
const verbs = fc.oneof(
  fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY', 'PRI'),
  bytesOfALine,
);

describe('a request is accepted or refused as documented', () => {
  it.each<[what: string, bodies: fc.Arbitrary<string | Uint8Array>]>([
    [
      'JSON',
      fc.oneof(
        fc.json(),
        nearJson.map((value) => JSON.stringify(value)),
      ),
    ],
    ['bytes', fc.uint8Array()],
  ])('with any %s as its body', async (_, bodies) => {
    await fc.assert(
      fc.asyncProperty(bodies, async (body) => {
        expect(TAKEN_OR_REFUSED).toContain((await post(body)).status);
      }),
      RUNS,
    );
  });

  it.each<[what: string, heads: fc.Arbitrary<string>, statuses: number[]]>([
    [
      'path',
      fc
        .tuple(fc.constantFrom('/', '/v1/', '/v1/shelves/', '/v1/files/', '/v1/echo/path/', ''), urlText)
        .map(([start, path]) => `GET ${start}${path} HTTP/1.1\r\n${AS_MEMBER}`),
      DOCUMENTED,
    ],
    [
      'query',
      fc
        .array(parameters, { maxLength: 4 })
        .map((query) => `GET /v1/echo?${query.join('&')} HTTP/1.1\r\n${AS_MEMBER}`),
      TAKEN_OR_REFUSED,
    ],
    [
      'headers',
      fc
        .tuple(fc.constantFrom('GET /v1/echo', 'POST /v1/echo', 'GET /nowhere'), lines)
        .map(([target, headers]) => [`${target} HTTP/1.1`, ...headers].join('\r\n')),
      [...DOCUMENTED, 417],
    ],
    ['HTTP method', verbs.map((verb) => `${verb} /v1/shelves HTTP/1.1`), DOCUMENTED],
  ])('with any %s', async (_, heads, statuses) => {
    await fc.assert(
      fc.asyncProperty(heads, async (head) => {
        expect(statuses).toContain(await statusOf(head));
      }),
      RUNS,
    );
  });
});

describe('a response', () => {
  it('is accepted as a request, whose response has the same bytes', async () => {
    await fc.assert(
      fc.asyncProperty(nearJson, async (value) => {
        const first = await post(JSON.stringify(value));
        fc.pre(first.status === 200);
        expect(await post(first.text)).toMatchObject({ status: 200, text: first.text });
      }),
      RUNS,
    );
  });
});

/** A few random bytes, repeated up to the length of several pieces of a response. */
const bytes = fc
  .tuple(fc.nat(50_000), fc.uint8Array({ minLength: 1, maxLength: 60 }))
  .map(([length, repeated]) => Buffer.alloc(length, repeated));
/** An `Entry` in JSON. */
const entry = fc.record({
  number: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
  text: fc.string({ unit: 'grapheme' }),
  content: bytes.map((data) => data.toString('base64')),
});

describe('a stream of any messages', () => {
  it.each([
    { form: 'lines', accept: '*/*', separator: '\n', before: '', last: [''] },
    {
      form: 'events',
      accept: 'text/event-stream',
      separator: '\n\n',
      before: 'data: ',
      last: ['event: end\ndata: {}', ''],
    },
  ])('arrives as $form that decode to the same messages', async ({ accept, separator, before, last }) => {
    let messages: JsonObject[] = [];
    const { origin } = await startFeed((call) => {
      for (const each of messages) call.write(feedMessage('Entry', each));
      call.end();
    });
    await fc.assert(
      fc.asyncProperty(fc.array(entry, { maxLength: 8 }), async (sent) => {
        messages = sent;
        const { text } = await httpRequest(origin, { path: '/v1/topics/a/entries', headers: { accept } });
        const parts = text.split(separator);
        expect(parts.splice(-last.length)).toEqual(last);
        expect(parts.map((part) => part.slice(0, before.length))).toEqual(sent.map(() => before));
        expect(parts.map((part) => JSON.parse(part.slice(before.length)) as unknown)).toEqual(sent);
      }),
      FEWER_RUNS,
    );
  });
});

it('a google.api.HttpBody is sent with a valid media type, whatever text its content type is', async () => {
  let message: Buffer = Buffer.alloc(0);
  const { origin } = await startFeed(
    () => undefined,
    {},
    undefined,
    () => message,
  );
  const token = fc.stringMatching(/^[\w!#$%&'*+\-.^`|~]{1,20}$/);
  const contentType = fc
    .tuple(token, token, fc.stringMatching(/^(?:;[\x20-\x7e]{0,30})?$/), fc.string())
    .map(([type, subtype, parameters, rest]) => `${type}/${subtype}${parameters}${rest}`);
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.string({ unit: 'binary' }), contentType), bytes, async (type, data) => {
      message = feedMessage('google.api.HttpBody', { contentType: type, data: data.toString('base64') });
      const response = await fetch(`${origin}/v1/files/a`);
      expect([type.trimEnd(), 'application/octet-stream']).toContain(response.headers.get('content-type'));
      expect(Buffer.from(await response.arrayBuffer()).equals(data)).toBe(true);
    }),
    FEWER_RUNS,
  );
});
