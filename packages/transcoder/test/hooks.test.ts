import { describe, expect, it, vi } from 'vitest';
import { create, toBinary } from '@bufbuild/protobuf';
import { Code } from '../src/gen/google/rpc/code_pb.js';
import { StatusSchema } from '../src/gen/google/rpc/status_pb.js';
import type { TranscoderOptions } from '../src/options.js';
import type { ReplyStream, Upstream } from '../src/upstream.js';
import { errorOf, httpRequest, rawExchange } from './support/http-request.js';
import { feedDescriptorSet } from './support/library-contract.js';
import { MEMBER } from './support/library-server.js';
import { openTranscoder } from './support/library-transcoder.js';

const headers = { authorization: MEMBER, 'content-type': 'application/json' };
const shelf = { path: '/v1/shelves/1', headers };
const fault = (): never => {
  throw new Error('a fault');
};
const late = (): never => Promise.reject(new Error('a fault')) as never;
const wrong = (value: unknown) => (): never => value as never;

/** An upstream whose failures are not those of a server, so that causes are logged. */
const unavailable: Upstream = {
  unary: () => ({ code: Code.UNAVAILABLE, details: 'away', answered: false }),
};

const status = create(StatusSchema, { details: [{ typeUrl: 'x/unknown.Type' }] });
const bytes = toBinary(StatusSchema, status);
const unknownDetail: Upstream = {
  unary: () => ({ code: Code.UNAVAILABLE, details: '', answered: true, trailers: { get: () => [bytes] } }),
};

describe('a fault in a hook is a line in the log, and the request goes on without the hook:', () => {
  it.each<[hook: string, how: string, options: Partial<TranscoderOptions>, status: number]>([
    ['requestIdOf', 'throws', { requestIdOf: fault }, 200],
    ['requestIdOf', 'rejects', { requestIdOf: late }, 200],
    ['requestIdOf', 'returns a number', { requestIdOf: wrong(7) }, 200],
    ['requestIdOf', 'returns a line break', { requestIdOf: wrong('a\nb') }, 200],
    ['now', 'throws', { now: fault }, 200],
    ['now', 'returns no number', { now: wrong('noon') }, 200],
    ['write', 'throws', { write: fault }, 200],
    ['mayLog', 'throws', { mayLog: fault, upstream: unavailable }, 503],
    ['mayLog', 'returns a promise', { mayLog: late, upstream: unavailable }, 503],
    ['observers', 'throws at the beginning', { observers: [{ begin: fault }] }, 200],
    ['observers', 'returns nothing', { observers: [{ begin: wrong(undefined) }] }, 200],
    ['observers', 'returns no end', { observers: [{ begin: wrong({}) }] }, 200],
    ['observers', 'returns no map', { observers: [{ begin: wrong({ end: fault, metadata: {} }) }] }, 200],
    ['observers', 'throws at the end', { observers: [{ begin: () => ({ end: fault }) }] }, 200],
    ['observers', 'rejects at the end', { observers: [{ begin: () => ({ end: late }) }] }, 200],
    ['onUnknownType', 'throws', { onUnknownType: fault, upstream: unknownDetail }, 503],
  ])('%s %s', async (hook, _, options, status) => {
    const gateway = await openTranscoder(options);
    const response = await httpRequest(gateway.origin, shelf);
    expect(response.status).toBe(status);
    expect(response.headers['x-request-id']).toMatch(/^[ -~]+$/);
    await rawExchange(gateway.origin, 'nonsense\r\n\r\n');
    expect((await httpRequest(gateway.origin, shelf)).status).toBe(status);
    expect(gateway.log.map(({ fields }) => fields['hook'])).toContain(hook);
  });

  it.each([
    ['throws', fault],
    ['rejects', late],
  ])('log, which stderr then tells, if it %s', async (_, write) => {
    const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    const log = { debug: write, info: write, warn: write, error: write, isLevelEnabled: fault };
    const { origin } = await openTranscoder({ log, answeredLevel: 'info' });
    expect((await httpRequest(origin, shelf)).status).toBe(200);
    await expect
      .poll(() => stderr.mock.calls.join('\n'))
      .toContain('transcoder: log failed {}: Error: a fault');
    stderr.mockRestore();
  });
});

describe('an upstream or a guard that violates its interface is 500, and the next request is served:', () => {
  const stream = (given: () => Partial<ReplyStream> | undefined): Upstream =>
    ({ ...unavailable, serverStream: given }) as Upstream;
  const unary = (given: () => unknown) => ({ upstream: { unary: given } as Upstream });
  const shelves = { path: shelf.path, set: {} };
  const feed = { path: '/v1/topics/news/entries', set: { descriptorSet: feedDescriptorSet } };

  it.each([
    { what: 'unary returns nothing', ...shelves, options: unary(() => undefined) },
    { what: 'unary rejects', ...shelves, options: unary(late) },
    { what: 'unary throws', ...shelves, options: unary(fault) },
    {
      what: 'unary returns OK without a message',
      ...shelves,
      options: unary(() => ({ code: Code.OK, details: '', answered: true })),
    },
    {
      what: 'the guard returns nothing',
      ...shelves,
      path: '/v1/shelves/1?x',
      options: { guard: wrong(undefined) },
    },
    { what: 'serverStream returns nothing', ...feed, options: { upstream: stream(() => undefined) } },
    {
      what: 'a stream returns nothing',
      ...feed,
      options: { upstream: stream(() => ({ next: wrong(Promise.resolve()) })) },
    },
    {
      what: 'the headers of a stream reject',
      ...feed,
      options: { upstream: stream(() => ({ headers: late(), next: fault })) },
    },
  ])('$what', async ({ set, path, options }) => {
    const gateway = await openTranscoder({ ...set, guard: undefined, maxRequests: 1, ...options });
    const response = await httpRequest(gateway.origin, { path, headers });
    expect(errorOf(response)).toMatchObject({ code: 500, message: 'An internal error occurred.' });
    expect(gateway.log.filter(({ level }) => level === 'error')).toMatchObject([
      { fields: { requestId: response.headers['x-request-id'], err: expect.any(Error) as Error } },
    ]);
    // Its place is free again.
    expect((await httpRequest(gateway.origin, { path, headers })).status).toBe(500);
  });
});

it('the log by default prints warnings and errors to stderr, with their causes', async () => {
  const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const { origin } = await openTranscoder({ log: undefined, upstream: unavailable, unsupported: 'skip' });
  await httpRequest(origin, shelf);
  const odd = await openTranscoder({
    log: undefined,
    upstream: { unary: vi.fn<Upstream['unary']>().mockRejectedValue('odd') },
    rules: [{ selector: 'library.v1.None.Such', get: '/a' }],
    unsupported: 'skip',
  });
  await httpRequest(odd.origin, shelf);
  expect(stderr.mock.calls.map(([line]) => String(line).split('\n')[0])).toEqual([
    'transcoder: request failed {"requestId":"made-1"}: Error: upstream: UNAVAILABLE: away',
    'transcoder: method skipped {"reason":"rules[0]: the contract has no method \\"library.v1.None.Such\\"."}',
    'transcoder: request failed {"requestId":"made-1"}: "odd"',
  ]);
  stderr.mockRestore();
});
