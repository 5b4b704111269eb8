import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  errorOf,
  fieldsOf,
  rawExchange,
  reasonOf,
} from '../../packages/transcoder/test/support/http-request.js';
import { checkResponse } from '../support/openapi.js';
import { post } from '../support/requests.js';
import { type Service, startService, TOPOLOGIES } from '../support/service.js';

/** One create for each status that only authorized callers see; the transcoder's tests cover all faults. */
const REFUSALS = [
  {
    title: 'an unknown field',
    body: { colour: 'red' },
    http: 400,
    reason: 'REQUEST_MALFORMED',
    fields: ['route.colour'],
  },
  {
    title: 'an encoded body',
    headers: { 'content-encoding': 'gzip' },
    http: 415,
    reason: 'CONTENT_TYPE_UNSUPPORTED',
  },
  { title: 'a condition', headers: { 'if-match': '*' }, http: 412, reason: 'PRECONDITION_FAILED' },
];

describe.each(TOPOLOGIES)('with the gateway %s', (topology) => {
  let service: Service;
  beforeAll(async () => {
    service = await startService({ databaseUrl: 'sqlite::memory:', topology });
  });
  afterAll(() => service.close());

  it.each(REFUSALS)(
    'a create with $title is refused: $http, $reason, but only 401 without a token',
    async (testCase) => {
      const { body, headers, http, reason, fields = [] } = testCase;
      const create = async (more: Record<string, string> = {}) => {
        const response = await post(service, body, { ...headers, ...more });
        await checkResponse('POST', response);
        return { status: response.status, sent: response.headers, text: await response.text() };
      };
      const refused = await create();
      expect([refused.status, reasonOf(refused), fieldsOf(refused)]).toEqual([http, reason, fields]);
      expect(refused.sent.get('x-powered-by') ?? refused.sent.get('server')).toBeNull();
      const unknown = await create({ authorization: '' });
      expect([unknown.status, reasonOf(unknown)]).toEqual([401, 'TOKEN_MISSING']);
    },
  );

  it('a create whose media type has other parameters than the charset is taken', async () => {
    const headers = { 'content-type': 'application/json; profile="a"; charset=utf-8' };
    expect((await post(service, undefined, headers)).status).toBe(201);
  });

  /** Requests that get an error of the service only because of the settings of its HTTP server. */
  it.each([
    ['a request without Host', 'GET /healthz HTTP/1.1', 400, 'REQUEST_MALFORMED'],
    ['a longer target', `GET /healthz?${'x'.repeat(20_000)} HTTP/1.1\r\nHost: a`, 431, 'HEADERS_TOO_LARGE'],
    ['a CONNECT request', 'CONNECT a:1 HTTP/1.1\r\nHost: a:1', 405, 'METHOD_NOT_ALLOWED'],
  ])('%s is refused with an error in the usual format', async (_, head, http, reason) => {
    const response = await rawExchange(service.httpUrl, `${head}\r\nConnection: close\r\n\r\n0\r\n\r\n`);
    const [headers = '', text = ''] = response.split('\r\n\r\n');
    expect(headers).toMatch(new RegExp(`^HTTP/1\\.1 ${http} `));
    expect(headers).toMatch(/^cache-control: no-store$/im);
    expect(headers).toMatch(/^content-type: application\/json$/im);
    expect(headers).toMatch(/^x-request-id: .+$/im);
    expect(errorOf({ text }).code).toBe(http);
    expect(reasonOf({ text })).toBe(reason);
  });
});
