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
const noStream = (): void => undefined;
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

describe('a request is accepted or refused as documented', () => {
  it('with any JSON as its body', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.json(),
          nearJson.map((value) => JSON.stringify(value)),
        ),
        async (body) => {
          expect(TAKEN_OR_REFUSED).toContain((await post(body)).status);
        },
      ),
      RUNS,
    );
  });

  it('with any bytes as its body', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array(), async (body) => {
        expect(TAKEN_OR_REFUSED).toContain((await post(body)).status);
      }),
      RUNS,
    );
  });

  it('with any path', async () => {
    const heads = fc.constantFrom('/', '/v1/', '/v1/shelves/', '/v1/files/', '/v1/echo/path/', '');
    await fc.assert(
      fc.asyncProperty(heads, urlText, async (head, path) => {
        expect(DOCUMENTED).toContain(
          await statusOf(`GET ${head}${path} HTTP/1.1\r\nAuthorization: ${MEMBER}`),
        );
      }),
      RUNS,
    );
  });

  it('with any query', async () => {
    const parameters = fc.oneof(
      urlText,
      fc.tuple(fc.constantFrom(...names), urlText).map(([name, text]) => `${name}=${text}`),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(parameters, { maxLength: 4 }), async (query) => {
        const target = `/v1/echo?${query.join('&')}`;
        expect(TAKEN_OR_REFUSED).toContain(
          await statusOf(`GET ${target} HTTP/1.1\r\nAuthorization: ${MEMBER}`),
        );
      }),
      RUNS,
    );
  });

  it('with any headers', async () => {
    const headerNames = fc.constantFrom(
      'Authorization',
      'X-Request-Id',
      'Request-Timeout',
      'Idempotency-Key',
      'Content-Type',
      'Content-Encoding',
      'Content-Length',
      'Transfer-Encoding',
      'Traceparent',
      'Tracestate',
      'If-Match',
      'If-None-Match',
      'Host',
      'Expect',
      'Accept',
      'Cookie',
    );
    const lines = fc.array(
      fc.tuple(headerNames, bytesOfALine).map(([name, value]) => `${name}: ${value}`),
      { maxLength: 4 },
    );
    await fc.assert(
      fc.asyncProperty(
        lines,
        fc.constantFrom('GET /v1/echo', 'POST /v1/echo', 'GET /nowhere'),
        async (headers, target) => {
          expect([...DOCUMENTED, 417]).toContain(
            await statusOf([`${target} HTTP/1.1`, ...headers].join('\r\n')),
          );
        },
      ),
      RUNS,
    );
  });

  it('with any HTTP method', async () => {
    const verbs = fc.oneof(
      fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY', 'PRI'),
      bytesOfALine,
    );
    await fc.assert(
      fc.asyncProperty(verbs, async (verb) => {
        expect(DOCUMENTED).toContain(await statusOf(`${verb} /v1/shelves HTTP/1.1`));
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
      fc.asyncProperty(fc.array(entry, { maxLength: 20 }), async (sent) => {
        messages = sent;
        const { text } = await httpRequest(origin, { path: '/v1/topics/a/entries', headers: { accept } });
        const parts = text.split(separator);
        expect(parts.splice(-last.length)).toEqual(last);
        expect(parts.map((part) => part.slice(0, before.length))).toEqual(sent.map(() => before));
        expect(parts.map((part) => JSON.parse(part.slice(before.length)) as unknown)).toEqual(sent);
      }),
      RUNS,
    );
  });
});

describe('a google.api.HttpBody', () => {
  const token = fc.stringMatching(/^[\w!#$%&'*+\-.^`|~]{1,20}$/);
  const contentType = fc
    .tuple(token, token, fc.stringMatching(/^(?:;[\x20-\x7e]{0,30})?$/))
    .map(([type, subtype, parameters]) => `${type}/${subtype}${parameters}`.trimEnd());

  const httpBody = (type: string, data: Buffer): Buffer =>
    feedMessage('google.api.HttpBody', { contentType: type, data: data.toString('base64') });

  async function fetched(url: string, init?: RequestInit): Promise<[type: string | null, hex: string]> {
    const response = await fetch(url, init);
    return [response.headers.get('content-type'), Buffer.from(await response.arrayBuffer()).toString('hex')];
  }

  it('is accepted and returned unchanged with any bytes and media type', async () => {
    const { origin } = await startFeed(noStream);
    await fc.assert(
      fc.asyncProperty(contentType, bytes, async (type, data) => {
        const sent = { method: 'POST', headers: { 'content-type': type }, body: data };
        expect(await fetched(`${origin}/v1/turn`, sent)).toEqual([type, data.toString('hex')]);
      }),
      RUNS,
    );
  });

  it('is sent with a valid media type, whatever text its content type is', async () => {
    let message: Buffer = Buffer.alloc(0);
    const { origin } = await startFeed(noStream, {}, undefined, () => message);
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.tuple(contentType, fc.string()).map(([type, rest]) => type + rest),
    );
    await fc.assert(
      fc.asyncProperty(text, bytes, async (type, data) => {
        message = httpBody(type, data);
        const [given, received] = await fetched(`${origin}/v1/files/a`);
        expect([type.trimEnd(), 'application/octet-stream']).toContain(given);
        expect(received).toBe(data.toString('hex'));
      }),
      RUNS,
    );
  });

  it('arrives as the bytes of all its parts, with the first media type', async () => {
    let messages: Buffer[] = [];
    const { origin } = await startFeed((call) => {
      for (const each of messages) call.write(each);
      call.end();
    });
    const parts = fc.array(fc.tuple(contentType, bytes), { minLength: 1, maxLength: 10 });
    await fc.assert(
      fc.asyncProperty(parts, async (sent) => {
        messages = sent.map(([type, data]) => httpBody(type, data));
        const [[type]] = sent as [(typeof sent)[number]];
        const all = Buffer.concat(sent.map(([, data]) => data));
        expect(await fetched(`${origin}/v1/archives/a`)).toEqual([type, all.toString('hex')]);
      }),
      RUNS,
    );
  });
});
