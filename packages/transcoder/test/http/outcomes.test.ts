import { createServer } from 'node:http';
import { describe, expect, it } from 'vitest';
import { Code } from '../../src/gen/google/rpc/code_pb.js';
import { requestTarget } from '../../src/http/head.js';
import { loggedPath } from '../../src/http/logged-path.js';
import type { LogKind } from '../../src/hooks.js';
import { createTranscoder } from '../../src/transcoder.js';
import type { Upstream } from '../../src/upstream.js';
import { httpRequest, type HttpResponse, rawExchange } from '../support/http-request.js';
import { libraryDescriptorSet } from '../support/library-contract.js';
import { LibraryServer, MEMBER } from '../support/library-server.js';
import { openTranscoder, type RunningTranscoder } from '../support/library-transcoder.js';
import { listening } from '../support/opening.js';

const asMember = ({ origin }: RunningTranscoder, path: string): Promise<HttpResponse> =>
  httpRequest(origin, { path, headers: { authorization: MEMBER } });

describe('a path in the log', () => {
  const uuid = '01a1f941-715b-7593-b057-19259d7b5bfc';

  it.each([
    ['is unchanged if it is short', `/v1/shelves/${uuid}`, `/v1/shelves/${uuid}`],
    ['has no query', '/v1/shelves/1?access_token=x', '/v1/shelves/1'],
    ['has no user name and password', 'http://user:password@host/v1/shelves', '/v1/shelves'],
    ['has its long segments cut, which may be tokens', `/v1/${'t'.repeat(37)}/x`, '/v1/tttttttt…/x'],
    ['is cut after 128 characters', '/ab'.repeat(100), `${'/ab'.repeat(43).slice(0, 127)}…`],
    ['has escapes for bytes that are not visible ASCII', '/a\u009b\u00e9 b', '/a%9B%E9%20b'],
    // Node refuses such a target, but middleware may put a decoded one in its place.
    ['has escapes of two digits', '/a\n/b\t', '/a%0A/b%09'],
  ])('%s', (_, target, shown) => {
    expect(loggedPath(requestTarget({ url: target }).path)).toBe(shown);
  });
});

describe('a log', () => {
  const ms = expect.any(Number) as number;

  it('has one line for each response, with nothing of the request but its method and path', async () => {
    let time = 0;
    const gateway = await openTranscoder({ now: () => (time += 5) });
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

  it('has the fields that the upstream adds, such as the caller', async () => {
    const library = new LibraryServer();
    const upstream: Upstream = {
      unary: async (call) => ({ ...(await library.unary(call)), fields: { sub: 'ann' } }),
    };
    const gateway = await openTranscoder({ upstream });
    await asMember(gateway, '/v1/shelves/1');
    await asMember(gateway, '/v1/shelves/404');
    expect(gateway.log.map(({ fields }) => fields['sub'])).toEqual(['ann', 'ann']);
  });

  it('creates no line at a disabled level', async () => {
    const lines: string[] = [];
    const write = (_fields: object, message: string): void => void lines.push(message);
    const log = { debug: write, info: write, warn: write, error: write };
    const isLevelEnabled = (level: string): boolean => level === 'info';
    const gateway = await openTranscoder({ log: { ...log, isLevelEnabled } });
    await asMember(gateway, '/v1/shelves/1');
    expect(lines).toEqual([]);
    await httpRequest(gateway.origin, { path: '/nowhere' });
    expect(lines).toEqual(['request refused']);
  });
});

describe('log lines', () => {
  /** Starts a gateway that writes only log lines of one kind. */
  async function onlyOf(kind: LogKind): Promise<RunningTranscoder> {
    return openTranscoder({ mayLog: (lineKind) => lineKind === kind });
  }
  const nowhere = { path: '/nowhere' };
  const fault = { path: '/v1/shelves/1?wrong=1', headers: { authorization: MEMBER } };
  const unavailable = {
    method: 'POST',
    path: '/v1/fail',
    headers: { authorization: MEMBER, 'content-type': 'application/json' },
    body: JSON.stringify({ code: Code.UNAVAILABLE, details: 'unanswered' }),
  };
  const debug = { ...unavailable, body: JSON.stringify({ code: Code.CANCELLED, details: 'unanswered' }) };

  it.each<{ kind: LogKind; statuses: (number | string)[] }>([
    { kind: 'unauthenticated', statuses: [404, 401, 429, 503, 'debug', 499, 400] },
    { kind: 'callers', statuses: [400, 403, 'debug'] },
    { kind: 'causes', statuses: ['warn', 'debug'] },
  ])('can be limited to the kind $kind', async ({ kind, statuses }) => {
    const gateway = await onlyOf(kind);
    const { origin } = gateway;
    await httpRequest(origin, nowhere);
    await httpRequest(origin, { path: '/v1/shelves/1' });
    await httpRequest(origin, fault);
    await httpRequest(origin, { ...unavailable, body: JSON.stringify({ code: Code.PERMISSION_DENIED }) });
    await httpRequest(origin, { ...unavailable, body: JSON.stringify({ code: Code.RESOURCE_EXHAUSTED }) });
    await httpRequest(origin, unavailable);
    await httpRequest(origin, debug);
    await rawExchange(origin, 'nonsense\r\n\r\n');
    expect(gateway.log.map(({ level, fields }) => fields['status'] ?? level)).toEqual(statuses);
  });
});

describe('a header that Node refuses', () => {
  it('is 500 with a line in the log, and the next request is served', async () => {
    const log: unknown[] = [];
    const add = (_: object, message: string): void => void log.push(message);
    const transcoder = createTranscoder({
      descriptorSet: libraryDescriptorSet,
      upstream: new LibraryServer(),
      log: { debug: () => undefined, info: add, warn: add, error: add },
    });
    const server = createServer((request, response) => {
      transcoder.respond(request, response, () => ({
        status: 200,
        headers: request.url === '/bad' ? { 'X-Name': 'a\nb', ETag: '"1"' } : {},
      }));
    });
    const origin = await listening(server);
    const bad = await httpRequest(origin, { path: '/bad' });
    expect([bad.status, bad.headers.etag]).toEqual([500, undefined]);
    expect(log).toEqual(['request failed', 'request refused']);
    expect((await httpRequest(origin, { path: '/good' })).status).toBe(200);
  });
});
