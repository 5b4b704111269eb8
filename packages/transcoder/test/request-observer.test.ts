import type { IncomingHttpHeaders } from 'node:http';
import { connect, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { TranscoderOptions } from '../src/options.js';
import type { RequestObservation, RequestObserver, RequestOutcome } from '../src/hooks.js';
import { httpRequest, rawExchange } from './support/http-request.js';
import { openTranscoder, type RunningTranscoder } from './support/library-transcoder.js';
import { MEMBER } from './support/library-server.js';

/** Records what it is told, and adds the given metadata and fields to each request. */
class Witness implements RequestObserver {
  readonly begun: { readonly method: string; readonly headers: IncomingHttpHeaders }[] = [];
  readonly ended: RequestOutcome[] = [];
  readonly #adds: Omit<RequestObservation, 'end'>;

  constructor(adds: Omit<RequestObservation, 'end'> = {}) {
    this.#adds = adds;
  }

  begin(request: { readonly method: string; readonly headers: IncomingHttpHeaders }): RequestObservation {
    this.begun.push(request);
    return { ...this.#adds, end: (outcome) => this.ended.push(outcome) };
  }
}

function start(
  observers: readonly RequestObserver[],
  options: Partial<TranscoderOptions> = {},
): Promise<RunningTranscoder> {
  return openTranscoder({ observers, ...options });
}

const CHUNKED = 'Transfer-Encoding: chunked';
const headers = { authorization: MEMBER, 'content-type': 'application/json', 'x-request-id': 'mine' };

describe('an observer', () => {
  it.each([
    { method: 'GET', path: '/v1/shelves/1', template: '/v1/shelves/{shelf_id}', status: 200 },
    { method: 'HEAD', path: '/v1/shelves/1', template: '/v1/shelves/{shelf_id}', status: 200 },
    {
      method: 'GET',
      path: '/v1/shelves/1?wrong=1',
      template: '/v1/shelves/{shelf_id}',
      status: 400,
      reason: 'REQUEST_MALFORMED',
    },
    {
      method: 'PURGE',
      path: '/v1/shelves/1',
      template: '/v1/shelves/{shelf_id}',
      status: 405,
      reason: 'METHOD_NOT_ALLOWED',
    },
    { method: 'OPTIONS', path: '/v1/shelves/1', template: '/v1/shelves/{shelf_id}', status: 204 },
    { method: 'OPTIONS', path: '*', template: undefined, status: 204 },
    { method: 'GET', path: '/nowhere/1', template: undefined, status: 404, reason: 'PATH_UNKNOWN' },
  ])('is told that $method $path was $template and $status', async ({ method, path, ...expected }) => {
    const witness = new Witness();
    const { origin } = await start([witness]);
    await httpRequest(origin, { method, path, headers });
    expect(witness.begun).toMatchObject([{ method, headers }]);
    expect(witness.ended).toEqual([{ reason: undefined, ...expected, requestId: 'mine' }]);
  });

  it('is told the template under the base path', async () => {
    const witness = new Witness();
    const { origin } = await start([witness], { basePath: '/api' });
    await httpRequest(origin, { path: '/api/v1/shelves/1', headers });
    expect(witness.ended).toMatchObject([{ template: '/api/v1/shelves/{shelf_id}' }]);
  });

  it('is told of bytes that are not HTTP, without a method', async () => {
    const witness = new Witness();
    const { origin } = await start([witness]);
    await rawExchange(origin, 'nonsense\r\n\r\n');
    expect(witness.begun).toEqual([{ method: '', headers: {} }]);
    expect(witness.ended).toEqual([
      { template: undefined, status: 400, reason: 'REQUEST_MALFORMED', requestId: 'made-1' },
    ]);
  });

  it.each([
    ['ends its connection', 'Content-Length: 100', '{"name":', (socket: Socket) => socket.end()],
    ['ends its connection between chunks', CHUNKED, '1\r\n{\r\n', (socket: Socket) => socket.end()],
    ['resets its connection', CHUNKED, '1\r\n{\r\n', (socket: Socket) => socket.resetAndDestroy()],
  ])('is told the same of a client that %s in the middle of its body', async (_, header, body, leave) => {
    const witness = new Witness();
    const { origin } = await start([witness]);
    const socket = connect(Number(new URL(origin).port), '127.0.0.1');
    socket.write(
      `POST /v1/shelves HTTP/1.1\r\nHost: x\r\nAuthorization: ${MEMBER}\r\nContent-Type: application/json\r\n${header}\r\n\r\n${body}`,
    );
    await expect.poll(() => witness.begun).toHaveLength(1);
    leave(socket);
    await expect.poll(() => witness.ended).toMatchObject([{ template: '/v1/shelves' }]);
    expect(witness.ended).toMatchObject([{ status: undefined, reason: undefined }]);
  });
});

describe('what observers add', () => {
  const metadataSeenBy = async (observers: readonly RequestObserver[]): Promise<unknown> => {
    const { origin } = await start(observers);
    const sent = { ...headers, traceparent: "the client's" };
    return JSON.parse((await httpRequest(origin, { path: '/v1/metadata', headers: sent })).text);
  };

  it('replaces what the client sent as metadata', async () => {
    const witness = new Witness({ metadata: new Map([['traceparent', 'ours']]) });
    expect(await metadataSeenBy([witness])).toMatchObject({ traceparent: 'ours' });
  });

  it('is merged, and each observer is told the outcome', async () => {
    const witnesses = [
      new Witness({ metadata: new Map([['a', '1']]), fields: { first: 'x' } }),
      new Witness(),
      new Witness({ metadata: new Map([['b', '2']]), fields: { second: 'y' } }),
    ];
    expect(await metadataSeenBy(witnesses)).toMatchObject({ a: '1', b: '2', traceparent: "the client's" });
    for (const { ended } of witnesses) expect(ended).toMatchObject([{ status: 200 }]);
  });

  it('is in every log line about the request', async () => {
    const witness = new Witness({ fields: { trace: '7' } });
    const gateway = await start([witness], { upstream: { unary: () => Promise.reject(new Error('x')) } });
    await httpRequest(gateway.origin, { path: '/v1/shelves/1', headers });
    await rawExchange(gateway.origin, 'nonsense\r\n\r\n');
    expect(gateway.log.map(({ message, fields }) => [message, fields['trace']])).toEqual([
      ['request failed', '7'],
      ['request refused', '7'],
      ['request refused', '7'],
    ]);
  });
});
