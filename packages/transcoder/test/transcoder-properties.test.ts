import fc from './support/fast-check.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rawExchange, type RunningTranscoder, startTranscoder } from './support/library-transcoder.js';
import { httpRequest, type HttpResponse } from './support/http-request.js';
import { messageType } from './support/library-contract.js';
import { MEMBER } from './support/library-server.js';

let gateway: RunningTranscoder;
beforeAll(async () => {
  gateway = await startTranscoder();
});
afterAll(() => gateway.close());

const RUNS = { numRuns: 200 };
const TAKEN_OR_REFUSED = [200, 201, 400];
const DOCUMENTED = [...TAKEN_OR_REFUSED, 204, 401, 404, 405, 412, 413, 414, 415, 501];

/** Bytes as Latin-1 text, without blanks, ends of lines and NUL, which have a meaning for HTTP itself. */
const bytesOfALine = fc
  .uint8Array({ maxLength: 60 })
  .map((bytes) => Buffer.from(bytes.filter((byte) => ![0, 9, 10, 13, 32].includes(byte))).toString('latin1'));
const urlText = fc.oneof(
  bytesOfALine,
  fc.string({ unit: fc.constantFrom('%', '2', 'F', 'é', '/', ':', '*', '.', '=', '&', '?', '+', '~') }),
  fc.webPath(),
);

/** JSON in which the names of fields are right more often than not. */
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

/** The status of the answer to a request head; 0 for none. */
async function statusOf(head: string): Promise<number> {
  const bytes = Buffer.from(`${head}\r\nHost: x\r\nConnection: close\r\n\r\n`, 'latin1');
  return Number(/^HTTP\/1\.1 (\d{3}) /.exec(await rawExchange(gateway.origin, bytes))?.[1] ?? 0);
}

describe('a request is taken or refused in a documented way, whatever', () => {
  it('JSON its body is', async () => {
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

  it('bytes its body is', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array(), async (body) => {
        expect(TAKEN_OR_REFUSED).toContain((await post(body)).status);
      }),
      RUNS,
    );
  });

  it('its path is', async () => {
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

  it('its query is', async () => {
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

  it('its headers are', async () => {
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

  it('its HTTP method is', async () => {
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

describe('an answer', () => {
  it('is taken as a request, and answered byte for byte the same', async () => {
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
