import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { create, toBinary } from '@bufbuild/protobuf';
import { Code } from '../src/gen/google/rpc/code_pb.js';
import { StatusSchema } from '../src/gen/google/rpc/status_pb.js';
import type { TranscoderOptions } from '../src/options.js';
import type { ReplyStream, UnaryCall, Upstream } from '../src/upstream.js';
import { errorOf, httpRequest, rawExchange } from './support/http-request.js';
import { feedDescriptorSet } from './support/library-contract.js';
import { MEMBER } from './support/library-server.js';
import { openTranscoder } from './support/library-transcoder.js';
import { getRequest, openConnection } from './support/open-connection.js';

const headers = { authorization: MEMBER, 'content-type': 'application/json' };
const shelf = { path: '/v1/shelves/1', headers };
const feed = '/v1/topics/news/entries';
const raise = (thrown: unknown): never => {
  throw thrown;
};
const fault = (): never => raise(new Error('a fault'));
const late = (): never => Promise.reject(new Error('a fault')) as never;
const wrong = (value: unknown) => (): never => value as never;
const faultyFor = (name: string) => Object.defineProperty({ end: () => undefined }, name, { get: fault });

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
    ['observers', 'throws for fields', { observers: [{ begin: () => faultyFor('fields') }] }, 200],
    ['observers', 'throws for metadata', { observers: [{ begin: () => faultyFor('metadata') }] }, 200],
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

  it('as far as mayLog allows', async () => {
    const { origin, log } = await openTranscoder({ observers: [{ begin: fault }], mayLog: () => false });
    expect((await httpRequest(origin, shelf)).status).toBe(200);
    expect(log.map(({ message }) => message)).not.toContain('hook failed');
  });

  it.each([
    ['throws', fault, 'Error: a fault'],
    ['rejects', late, 'Error: a fault'],
    ['throws a bigint', () => raise(1n), '1n'],
  ])('log, which stderr then tells, if it %s', async (_, write, told) => {
    const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    onTestFinished(() => void vi.restoreAllMocks());
    const log = { debug: fault, info: fault, warn: fault, error: fault, isLevelEnabled: fault };
    const { origin } = await openTranscoder({ log, answeredLevel: 'info' });
    // As pino does when its level changes.
    Object.assign(log, { info: write });
    expect((await httpRequest(origin, shelf)).status).toBe(200);
    await expect.poll(() => stderr.mock.calls.join('\n')).toContain(`transcoder: log failed {}: ${told}`);
  });

  it.each([
    ['a call', shelf.path, {}, ['hook failed']],
    ['a stream', feed, { descriptorSet: feedDescriptorSet }, ['hook failed', 'client gone']],
  ])('a listener for the cancellation of %s', async (_, path, set, told) => {
    let begun = false;
    const upstream = {
      unary: ({ cancellation }: UnaryCall) => {
        cancellation.onCancelled(fault);
        begun = true;
        return new Promise<never>(() => undefined);
      },
      serverStream: (call: UnaryCall) => ({ next: () => upstream.unary(call) }),
    };
    const gateway = await openTranscoder({ ...set, guard: undefined, maxRequests: 1, upstream });
    const { socket } = openConnection(gateway);
    socket.write(getRequest(path));
    await expect.poll(() => begun).toBe(true);
    socket.destroy();
    await expect.poll(() => gateway.log.map(({ message }) => message)).toEqual(told);
  });
});

describe('an upstream or a guard that violates its interface is 500, and the next request is served:', () => {
  const stream = (serverStream: () => Partial<ReplyStream> | undefined) => ({
    descriptorSet: feedDescriptorSet,
    upstream: { ...unavailable, serverStream } as Upstream,
  });
  const unary = (call: () => unknown) => ({ upstream: { unary: call } as Upstream });
  it.each<[what: string, path: string, options: Partial<TranscoderOptions>]>([
    ['unary returns nothing', shelf.path, unary(() => undefined)],
    ['unary rejects', shelf.path, unary(late)],
    ['unary throws', shelf.path, unary(fault)],
    ['unary returns OK without a message', shelf.path, unary(() => ({ code: Code.OK, answered: true }))],
    ['the guard returns nothing', '/v1/shelves/1?x', { guard: wrong(undefined) }],
    ['serverStream returns nothing', feed, stream(() => undefined)],
    ['a stream returns nothing', feed, stream(() => ({ next: wrong(Promise.resolve()) }))],
    ['the headers of a stream reject', feed, stream(() => ({ headers: late(), next: fault }))],
  ])('%s', async (_, path, options) => {
    const gateway = await openTranscoder({ guard: undefined, maxRequests: 1, ...options });
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
  onTestFinished(() => void vi.restoreAllMocks());
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
    'transcoder: request failed {"requestId":"made-1"}: \'odd\'',
  ]);
});
