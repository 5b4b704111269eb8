import { IncomingMessage } from 'node:http';
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

/** The lines of each request header. */
type Headers = Readonly<Record<string, readonly string[]>>;

/** The most metadata from prefixes, and what each header counts beside its name and value, in bytes. */
const MAX_BYTES = 4_096;
const HEADER_BYTES = 32;

/** What becomes of these headers of a request whose id is `id`. */
function forward(headers: Headers, forwarded: ForwardedHeaders): ReturnType<Forwarding['metadata']> {
  const forwarding = new Forwarding(forwarded);
  const rawHeaders = Object.entries(headers).flatMap(([name, values]) =>
    values.flatMap((value) => [name, value]),
  );
  const request = new IncomingMessage(new Socket());
  // As Node's parser does: it joins repeated headers, but keeps the first `authorization`.
  Object.assign(request, {
    rawHeaders,
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, values]) => [
        name.toLowerCase(),
        name === 'authorization' ? values[0] : values.join(', '),
      ]),
    ),
  });
  return forwarding.metadata(sentHeaders(request, forwarding.headersToRead), 'id');
}

/** The metadata of a call beside its request id. */
function metadataOf(headers: Headers, forwarded: ForwardedHeaders): Record<string, string> {
  const { 'x-request-id': id, ...others } = Object.fromEntries(forward(headers, forwarded).metadata);
  expect(id).toBe('id');
  return others;
}

/** The defaults, and `Idempotency-Key`. */
const WITH_IDEMPOTENCY_KEY: ForwardedHeaders = new Map([...FORWARDED_HEADERS, ['idempotency-key', 'refuse']]);

/** Prefixes and names, most of which become other keys. */
const RENAMING = new Map<string, UnfitValue | RenamedHeader>([
  ['authorization', 'mask'],
  ['grpc-metadata-*', 'drop'],
  ['grpc-metadata-old-*', { unfit: 'drop', metadata: 'was-*' }],
  ['x-tenant', { unfit: 'refuse', metadata: 'tenant' }],
  ['x-user-id', { unfit: 'refuse', metadata: 'id' }],
  ['x-user-*', { unfit: 'mask', metadata: 'user-*' }],
]);

function renamedTo(metadata: string): RenamedHeader {
  return { unfit: 'drop', metadata };
}

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
    expect(metadataOf(headers, WITH_IDEMPOTENCY_KEY)).toEqual(metadata);
  });

  it.each<[headers: Headers, why: string, metadata: Record<string, string>]>([
    [{ 'X-Tenant': ['a'] }, 'a header may have another key', { tenant: 'a' }],
    [{ 'Grpc-Metadata-Shelf': ['a', 'b'] }, 'a prefix is stripped', { shelf: 'a, b' }],
    [{ 'X-User-Name': ['a'] }, 'a prefix may be replaced', { 'user-name': 'a' }],
    [{ 'X-User-Id': ['a'] }, 'a name takes precedence over a prefix', { id: 'a' }],
    [{ 'Grpc-Metadata-Old-Age': ['a'] }, 'the longest prefix applies', { 'was-age': 'a' }],
    [{ 'X-User-Name': ['\u00ff'] }, 'a prefix may mask', { 'user-name': '?' }],
  ])('is made from %j under other keys: %s', (headers, _, metadata) => {
    expect(metadataOf(headers, RENAMING)).toEqual(metadata);
  });

  it.each<[headers: Headers, why: string]>([
    [{ 'Grpc-Metadata-Shelf': ['\u00ff'] }, 'a prefix may drop'],
    [
      { 'Grpc-Metadata-Tenant': ['a'], 'Grpc-Metadata-Authorization': ['a'] },
      'a prefix does not give the key of another header',
    ],
    [
      { 'Grpc-Metadata-User-Name': ['a'], 'Grpc-Metadata-Was-Age': ['a'] },
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
      'gRPC and the transcoder write these keys',
    ],
    [
      { 'Grpc-Metadata-Shelf-Bin': ['AQ=='], 'Grpc-Metadata-A!b': ['a'], 'Grpc-Metadata-': ['a'] },
      'bytes, and what is no key, cannot be forwarded',
    ],
  ])('is not made from %j: %s', (headers) => {
    expect(metadataOf(headers, RENAMING)).toEqual({});
  });

  describe('from all headers', () => {
    const headers = { host: ['a'], 'content-type': ['b'], te: ['c'], cookie: ['d'], 'user-agent': ['e'] };

    it('leaves out those whose keys gRPC or the transcoder writes', () => {
      expect(metadataOf(headers, new Map([['*', 'drop']]))).toEqual({ cookie: 'd' });
    });

    it('has these, too, under other keys', () => {
      expect(metadataOf(headers, new Map([['*', renamedTo('http-*')]]))).toEqual({
        'http-host': 'a',
        'http-content-type': 'b',
        'http-te': 'c',
        'http-cookie': 'd',
        'http-user-agent': 'e',
      });
    });
  });

  describe('from prefixes', () => {
    const byPrefix = new Map([['grpc-metadata-*', 'drop']] as const);
    const withValueOf = (bytes: number): Headers => ({ 'Grpc-Metadata-A': ['a'.repeat(bytes)] });
    const valueBytes = MAX_BYTES - HEADER_BYTES - 'a'.length;

    it('has up to 4 KiB', () => {
      const { metadata, unfitHeader } = forward(withValueOf(valueBytes), byPrefix);
      expect(unfitHeader).toBeUndefined();
      expect(metadata.get('a')).toHaveLength(valueBytes);
    });

    it('is refused, and not forwarded, if one header exceeds 4 KiB', () => {
      const { metadata, unfitHeader } = forward(withValueOf(valueBytes + 1), byPrefix);
      expect(unfitHeader).toMatchObject({ reason: 'HEADERS_TOO_LARGE', httpStatus: 431 });
      expect([...metadata.keys()]).toEqual(['x-request-id']);
    });

    it('is refused, and forwarded only as far as it fits, if many headers together exceed 4 KiB', () => {
      const keys = Array.from({ length: 200 }, (_, index) => String(100 + index));
      const headers = Object.fromEntries(keys.map((key) => [`Grpc-Metadata-${key}`, ['']]));
      const { metadata, unfitHeader } = forward(headers, byPrefix);
      expect(unfitHeader).toMatchObject({ reason: 'HEADERS_TOO_LARGE', httpStatus: 431 });

      const fitting = Math.floor(MAX_BYTES / (HEADER_BYTES + '100'.length));
      expect([...metadata.keys()]).toEqual(['x-request-id', ...keys.slice(0, fitting)]);
    });
  });

  it.each([
    'connection',
    'http2-settings',
    'keep-alive',
    'proxy-connection',
    'transfer-encoding',
    'upgrade',
    'content-encoding',
    'content-length',
    'content-type',
    'expect',
    'host',
    'te',
    'trailer',
    'user-agent',
    'x-request-id',
    'grpc-timeout',
  ])('never comes from the header %s, which gRPC or the transcoder writes', (name) => {
    expect(() => new Forwarding(new Map([[name, 'drop']]))).toThrow('gRPC or the transcoder writes');
    const { metadata } = forward({ [name]: ['sent'] }, new Map([['*', 'drop']] as const));
    expect(metadata.get(name)).not.toBe('sent');
  });
});

describe('a configuration is refused if', () => {
  it.each<{ why: string; forwarded: ForwardedHeaders; error: string }>([
    {
      why: 'gRPC writes the key',
      forwarded: new Map([['x-a', renamedTo('grpc-timeout')]]),
      error: '"x-a" would be the metadata "grpc-timeout", which gRPC',
    },
    {
      why: 'the key is not in lower case',
      forwarded: new Map([['x-a', renamedTo('X-A')]]),
      error: '"x-a" would be the metadata "X-A", which is not a key',
    },
    {
      why: 'the key of one header is a prefix',
      forwarded: new Map([['x-a', renamedTo('x-*')]]),
      error: '"x-a" would be the metadata "x-*", which is not a key',
    },
    {
      why: 'the key is a pseudo-header',
      forwarded: new Map([['x-a', renamedTo(':path')]]),
      error: '"x-a" would be the metadata ":path", which is not a key',
    },
    {
      why: 'the key is of bytes',
      forwarded: new Map([['x-a', renamedTo('a-bin')]]),
      error: '"x-a" would be the metadata "a-bin", which is bytes',
    },
    {
      why: 'gRPC writes the keys of a prefix',
      forwarded: new Map([['x-*', renamedTo('grpc-*')]]),
      error: '"x-*" would be the metadata "grpc-*", which gRPC',
    },
    {
      why: 'two headers have the same key',
      forwarded: new Map([
        ['a', renamedTo('a')],
        ['x-b', renamedTo('a')],
      ]),
      error: '"x-b" would be the metadata "a", as would another one.',
    },
    {
      why: 'two prefixes have the same keys',
      forwarded: new Map([
        ['y-*', 'drop'],
        ['x-*', 'drop'],
      ]),
      error: '"x-*" would be the metadata "*", as would another one.',
    },
    {
      why: 'all headers with a prefix would have a single key',
      forwarded: new Map([['x-*', renamedTo('a')]]),
      error: '"x-*" stands for several names, and "a" for one',
    },
    {
      why: 'the name of a header is not in lower case',
      forwarded: new Map([['X-*', 'drop']]),
      error: '"X-*" must be in lower case',
    },
  ])('$why', ({ forwarded, error }) => {
    expect(() => new Forwarding(forwarded)).toThrow(error);
  });
});

describe('a header that is refused', () => {
  it.each(['\u00ff', 'a\tb'])(
    'is named, while all other metadata is made, since the guard is asked with it: the idempotency key %j',
    (key) => {
      const { metadata, unfitHeader } = forward(
        { 'idempotency-key': [key], authorization: ['a'] },
        WITH_IDEMPOTENCY_KEY,
      );
      expect(unfitHeader?.reason).toBe('REQUEST_MALFORMED');
      expect(unfitHeader?.violations()).toMatchObject([{ field: 'idempotency-key' }]);
      expect(Object.fromEntries(metadata)).toEqual({ 'x-request-id': 'id', authorization: 'a' });
    },
  );

  it.each([
    ['listed by name', 'b', { b: ['\u00ff'], a: ['\u00ff'], 'x-c': ['\u00ff'], d: ['1'] }],
    ['matched by a prefix', 'x-c', { 'x-c': ['\u00ff'], 'x-d': ['a'.repeat(5_000)], b: ['\u00ff'] }],
  ])('is named alone, as the first of several: %s, %s', (_, name, headers) => {
    const forwarded = new Map([
      ['a', 'refuse'],
      ['b', 'refuse'],
      ['x-*', 'refuse'],
    ] as const);
    const { unfitHeader } = forward(headers, forwarded);
    expect(unfitHeader?.violations()).toMatchObject([{ field: name }]);
  });

  it('does not keep a header that is listed by name from being forwarded after it', () => {
    const forwarded = new Map([
      ['a', 'refuse'],
      ['x-*', 'drop'],
    ] as const);
    const { metadata, unfitHeader } = forward({ 'x-c': ['c'.repeat(5_000)], a: ['1'] }, forwarded);
    expect(unfitHeader?.reason).toBe('HEADERS_TOO_LARGE');
    expect(Object.fromEntries(metadata)).toEqual({ 'x-request-id': 'id', a: '1' });
  });
});
