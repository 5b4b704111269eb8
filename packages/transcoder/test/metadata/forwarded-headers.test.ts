import type { JsonObject } from '@bufbuild/protobuf';
import { type IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { sentHeaders } from '../../src/http/sent-headers.js';
import {
  FORWARDED_HEADERS,
  type ForwardedHeaders,
  Forwarding,
  type RenamedHeader,
  type UnfitValue,
} from '../../src/metadata/forwarded-headers.js';
import { httpRequest } from '../support/http-request.js';
import { MEMBER } from '../support/library-server.js';
import { openTranscoder } from '../support/library-transcoder.js';

type Headers = Readonly<Record<string, readonly string[]>>;

function forward(headers: Headers, forwarded: ForwardedHeaders): ReturnType<Forwarding['metadata']> {
  const forwarding = new Forwarding(forwarded);
  const rawHeaders = Object.entries(headers).flatMap(([name, values]) =>
    values.flatMap((value) => [name, value]),
  );
  const request = new IncomingMessage(new Socket());
  // As Node's parser does.
  Object.assign(request, {
    rawHeaders,
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, values]) => [
        name.toLowerCase(),
        name === 'authorization' ? values[0] : values.join(', '),
      ]),
    ),
  });
  return forwarding.metadata(sentHeaders(request, forwarding.names), 'id');
}

/** The metadata of a call beside its request id. */
function metadataOf(headers: Headers, forwarded: ForwardedHeaders): Record<string, string> {
  const { 'x-request-id': id, ...others } = Object.fromEntries(forward(headers, forwarded).metadata);
  expect(id).toBe('id');
  return others;
}

const defaults: ForwardedHeaders = new Map([...FORWARDED_HEADERS, ['idempotency-key', 'refuse']]);

describe('the metadata of a call', () => {
  it.each<[headers: Headers, why: string, metadata: Record<string, string>]>([
    [{}, 'the request id is always there', {}],
    [{ authorization: ['Bearer a'] }, 'the token is forwarded', { authorization: 'Bearer a' }],
    [
      { authorization: ['Bearer a', 'Bearer b'] },
      'two tokens become an invalid one',
      { authorization: 'Bearer a, Bearer b' },
    ],
    [
      { authorization: ['Bearer \u00e9\t'] },
      'a malformed token stays invalid',
      { authorization: 'Bearer ??' },
    ],
    [{ authorization: [''] }, 'an empty header is forwarded', { authorization: '' }],
    [
      { traceparent: ['00-a-b-01'], tracestate: ['x=1', 'y=2'] },
      'trace context is forwarded',
      { traceparent: '00-a-b-01', tracestate: 'x=1, y=2' },
    ],
    [{ traceparent: ['\u00ff'] }, 'a malformed trace context is left out', {}],
    [{ 'idempotency-key': ['k 1'] }, 'the server validates the key', { 'idempotency-key': 'k 1' }],
    [
      {
        'x-request-id': ['theirs'],
        'x-auth-only': ['1'],
        'grpc-timeout': ['1n'],
        constructor: ['x'],
        cookie: ['a=b'],
      },
      'no other header is forwarded',
      {},
    ],
  ])('is made from %j: %s', (headers, _, metadata) => {
    expect(metadataOf(headers, defaults)).toEqual(metadata);
  });

  it.each<[headers: Headers, metadata: Record<string, string>, why: string]>([
    [{ 'X-Tenant': ['a'] }, { tenant: 'a' }, 'a header may have another key'],
    [{ 'Grpc-Metadata-Shelf': ['a', 'b'] }, { shelf: 'a, b' }, 'a prefix is stripped'],
    [{ 'X-User-Name': ['a'] }, { 'user-name': 'a' }, 'a prefix may be replaced'],
    [{ 'X-User-Id': ['a'] }, { id: 'a' }, 'a name takes precedence over a prefix'],
    [{ 'Grpc-Metadata-Old-Age': ['a'] }, { 'was-age': 'a' }, 'the longest prefix applies'],
    [{ 'X-User-Name': ['\u00ff'] }, { 'user-name': '?' }, 'a prefix may mask'],
    [{ 'Grpc-Metadata-Shelf': ['\u00ff'] }, {}, 'a prefix may drop'],
    [
      { 'Grpc-Metadata-Tenant': ['a'], 'Grpc-Metadata-Authorization': ['a'] },
      {},
      'a prefix does not give the key of another header',
    ],
    [
      { 'Grpc-Metadata-User-Name': ['a'], 'Grpc-Metadata-Was-Age': ['a'] },
      {},
      'a prefix does not give the keys of another prefix',
    ],
    [
      {
        'Grpc-Metadata-X-Request-Id': ['theirs'],
        'Grpc-Metadata-Grpc-Timeout': ['1n'],
        'Grpc-Metadata-Grpc-Encoding': ['gzip'],
        'Grpc-Metadata-Content-Type': ['text/html'],
        'Grpc-Metadata-Content-Length': ['1'],
        'Grpc-Metadata-TE': ['a'],
        'Grpc-Metadata-User-Agent': ['a'],
        'Grpc-Metadata-Host': ['a'],
        'Grpc-Metadata-Connection': ['close'],
        'Grpc-Metadata-Transfer-Encoding': ['chunked'],
      },
      {},
      'gRPC and the transcoder write these',
    ],
    [
      { 'Grpc-Metadata-Shelf-Bin': ['AQ=='], 'Grpc-Metadata-A!b': ['a'], 'Grpc-Metadata-': ['a'] },
      {},
      'metadata of bytes, and what is no key, is left out',
    ],
  ])('is renamed from %j to %j: %s', (headers, metadata) => {
    const forwarded = new Map<string, UnfitValue | RenamedHeader>([
      ['authorization', 'mask'],
      ['grpc-metadata-*', 'drop'],
      ['grpc-metadata-old-*', { unfit: 'drop', metadata: 'was-*' }],
      ['x-tenant', { unfit: 'refuse', metadata: 'tenant' }],
      ['x-user-id', { unfit: 'refuse', metadata: 'id' }],
      ['x-user-*', { unfit: 'mask', metadata: 'user-*' }],
    ]);
    expect(metadataOf(headers, forwarded)).toEqual(metadata);
  });

  it('may come from all headers but those of the connection', () => {
    const headers = { host: ['a'], 'content-type': ['b'], te: ['c'], cookie: ['d'], 'user-agent': ['e'] };
    expect(metadataOf(headers, new Map([['*', 'drop']]))).toEqual({ cookie: 'd' });
    const kept = new Map([['*', { unfit: 'drop', metadata: 'http-*' }]] as const);
    expect(metadataOf(headers, kept)).toEqual({
      'http-host': 'a',
      'http-content-type': 'b',
      'http-te': 'c',
      'http-cookie': 'd',
      'http-user-agent': 'e',
    });
  });

  it('from prefixes has at most 4 KiB; more is refused, and not forwarded', () => {
    const forwarded = new Map([['grpc-metadata-*', 'drop']] as const);
    const fitting = { 'Grpc-Metadata-A': ['a'.repeat(4_096 - 32 - 1)] };
    expect(forward(fitting, forwarded)).toMatchObject({ unfitHeader: undefined });
    const many = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`Grpc-Metadata-${n}`, ['']]));
    for (const headers of [{ 'Grpc-Metadata-A': ['a'.repeat(4_096 - 32)] }, many]) {
      const { metadata, unfitHeader } = forward(headers, forwarded);
      expect(unfitHeader).toMatchObject({ reason: 'HEADERS_TOO_LARGE', httpStatus: 431 });
      expect([...metadata].flat().join('').length + 32 * metadata.size).toBeLessThan(4_200);
    }
  });

  it.each<[string, ForwardedHeaders]>([
    ['"x-a" would be the metadata "grpc-timeout", which gRPC', new Map([['x-a', as('grpc-timeout')]])],
    ['"x-a" would be the metadata "X-A", which is not a key', new Map([['x-a', as('X-A')]])],
    ['"x-a" would be the metadata "x-*", which is not a key', new Map([['x-a', as('x-*')]])],
    ['"x-a" would be the metadata ":path", which is not a key', new Map([['x-a', as(':path')]])],
    ['"x-a" would be the metadata "a-bin", which is bytes', new Map([['x-a', as('a-bin')]])],
    ['"x-*" would be the metadata "grpc-*", which gRPC', new Map([['x-*', as('grpc-*')]])],
    [
      '"x-b" would be the metadata "a", as would another one.',
      new Map([
        ['a', as('a')],
        ['x-b', as('a')],
      ]),
    ],
    [
      '"x-*" would be the metadata "*", as would another one.',
      new Map([
        ['y-*', 'drop'],
        ['x-*', 'drop'],
      ]),
    ],
    ['"x-*" stands for several names, and "a" for one', new Map([['x-*', as('a')]])],
    ['"X-*" must be in lower case', new Map([['X-*', 'drop']])],
  ])('cannot come from headers if %s', (why, forwarded) => {
    expect(() => new Forwarding(forwarded)).toThrow(why);
  });

  it.each([
    ...['connection', 'http2-settings', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade'],
    ...['content-encoding', 'content-length', 'content-type', 'expect', 'host', 'te', 'trailer'],
    ...['user-agent', 'x-request-id', 'grpc-timeout'],
  ])('never come from the header %s, which gRPC or the transcoder writes', (name) => {
    expect(() => new Forwarding(new Map([[name, 'drop']]))).toThrow('gRPC or the transcoder writes');
    const { metadata } = forward({ [name]: ['sent'] }, new Map([['*', 'drop']] as const));
    expect(metadata.get(name)).not.toBe('sent');
  });
});

function as(metadata: string): RenamedHeader {
  return { unfit: 'drop', metadata };
}

it.each(['\u00ff', 'a\tb'])(
  'the header idempotency-key: %j is refused, and leaves others to the guard',
  (key) => {
    const { metadata, unfitHeader } = forward({ 'idempotency-key': [key], authorization: ['a'] }, defaults);
    expect(unfitHeader?.reason).toBe('REQUEST_MALFORMED');
    expect(unfitHeader?.violations()).toMatchObject([{ field: 'idempotency-key' }]);
    expect(Object.fromEntries(metadata)).toEqual({ 'x-request-id': 'id', authorization: 'a' });
  },
);

it.each([
  ['one of its own', 'b', { b: ['\u00ff'], a: ['\u00ff'], 'x-c': ['\u00ff'], d: ['1'] }],
  ['one of a prefix', 'x-c', { 'x-c': ['\u00ff'], 'x-d': ['a'.repeat(5_000)], b: ['\u00ff'] }],
])('of several headers that are refused, the failure names the first: %s, %s', (_, name, headers) => {
  const forwarded = new Map([
    ['a', 'refuse'],
    ['b', 'refuse'],
    ['x-*', 'refuse'],
  ] as const);
  const { unfitHeader } = forward(headers, forwarded);
  expect(unfitHeader?.violations()).toMatchObject([{ field: name }]);
});

it('a header of its own is forwarded after those of prefixes that are too large', () => {
  const forwarded = new Map([
    ['a', 'refuse'],
    ['x-*', 'drop'],
  ] as const);
  const { metadata, unfitHeader } = forward({ 'x-c': ['c'.repeat(5_000)], a: ['1'] }, forwarded);
  expect(unfitHeader?.reason).toBe('HEADERS_TOO_LARGE');
  expect(Object.fromEntries(metadata)).toEqual({ 'x-request-id': 'id', a: '1' });
});

describe('a header that the application has', () => {
  const own = new Map([...FORWARDED_HEADERS, ['x-user', 'refuse'] as const, ['x-*', 'refuse'] as const]);
  const seenAfter = async (edit: (headers: IncomingHttpHeaders) => void): Promise<JsonObject> => {
    const { origin } = await openTranscoder(
      { forwardedHeaders: own },
      {},
      (handler) => (request, response) => {
        edit(request.headers);
        handler(request, response);
      },
    );
    const headers = { authorization: MEMBER, 'x-user': 'root', 'x-lines': ['a', 'b'], constructor: 'c' };
    return JSON.parse((await httpRequest(origin, { path: '/v1/metadata', headers })).text) as JsonObject;
  };

  it.each<
    [how: string, edit: (headers: IncomingHttpHeaders) => void, key: string, value: string | undefined]
  >([
    ['left alone counts as sent', () => undefined, 'lines', 'a, b'],
    ['deleted is not forwarded', (headers) => delete headers['x-user'], 'x-user', undefined],
    ['unset is not forwarded', (headers) => (headers['x-user'] = undefined), 'x-user', undefined],
    ['replaced is forwarded so', (headers) => (headers['x-user'] = 'ann'), 'x-user', 'ann'],
    ['replaced by one of several is forwarded so', (headers) => (headers['x-lines'] = 'a'), 'lines', 'a'],
    ['set is forwarded', (headers) => (headers['x-tenant'] = ['a', 'b']), 'tenant', 'a, b'],
    ['set to a number is forwarded', (headers) => Object.assign(headers, { 'x-age': 7 }), 'age', '7'],
  ])('%s', async (_, edit, key, value) => {
    expect((await seenAfter(edit))[key]).toBe(value);
  });

  it('replaced authenticates the request', async () => {
    const { origin } = await openTranscoder({}, {}, (handler) => (request, response) => {
      request.headers.authorization = MEMBER;
      handler(request, response);
    });
    const wrong = { authorization: 'Bearer wrong' };
    expect((await httpRequest(origin, { path: '/v1/shelves/1', headers: wrong })).status).toBe(200);
  });
});
