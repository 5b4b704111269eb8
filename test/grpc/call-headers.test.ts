import { once } from 'node:events';
import { constants, type IncomingHttpHeaders } from 'node:http2';
import { describe, expect, it } from 'vitest';
import { frameMessage, outcomeOf, requestOn } from '../support/http2-call.js';
import { connectTo, ECHO, startTestServer } from '../support/test-grpc-server.js';
import { status } from '@grpc/grpc-js';
import {
  prepareForGrpcJs,
  TIMEOUT_MS_KEY,
  UNKNOWN_METHOD,
  UNKNOWN_PATH_KEY,
} from '../../src/grpc/call-headers.js';

const A = new Set(['/a']);
const NONE: ReadonlySet<string> = new Set();

describe('the path of an unknown method', () => {
  it.each([
    ['1,024 characters', 1_024, 1_024],
    ['10,000 characters', 10_000, 1_024],
  ])('is kept up to its first 1,024 characters: %s', (_, length, kept) => {
    const headers: IncomingHttpHeaders = { ':path': 'p'.repeat(length) };
    prepareForGrpcJs(headers, NONE, NONE);
    expect(headers).toEqual({ ':path': UNKNOWN_METHOD, [UNKNOWN_PATH_KEY]: 'p'.repeat(kept) });
  });

  it('is logged', async () => {
    const server = await startTestServer();
    const { code } = await outcomeOf(requestOn(connectTo(server), '/no.Service/Method').end());
    expect(code).toBe(status.UNIMPLEMENTED);
    expect(server.log).toEqual([expect.objectContaining({ path: '/no.Service/Method' })]);
  });
});

describe('unused headers', () => {
  it('are hidden from grpc-js', () => {
    const kept = { ':path': '/a', 'x-request-id': 'n' };
    const unused = { 'x-any': 'a', cookie: 'b', constructor: 'c', ['__proto__']: 'd', 'grpc-status': '0' };
    const headers: IncomingHttpHeaders = { ...kept, ...unused };
    prepareForGrpcJs(headers, A, NONE);
    expect(Object.entries(headers)).toEqual(Object.entries(kept));
  });
});

describe('a timeout of a unary call', () => {
  it.each([
    ['25H', 90_000_000],
    ['99999999H', 359_999_996_400_000],
    ['00000999H', 3_596_400_000],
    ['10M', 600_000],
    ['600S', 600_000],
    ['99999999m', 99_999_999],
    ['0m', 0],
    ['500u', 0.5],
    ['1n', 0.000_001],
  ])('is hidden from grpc-js, and passed on in milliseconds: %s', (timeout, ms) => {
    for (const path of ['/a', '/unknown']) {
      const headers: IncomingHttpHeaders = { ':path': path, 'grpc-timeout': timeout };
      prepareForGrpcJs(headers, A, NONE);
      expect(headers['grpc-timeout']).toBeUndefined();
      expect(Number(headers[TIMEOUT_MS_KEY])).toBeCloseTo(ms);
    }
  });

  it.each(['soon', '5', '123456789m', '5 m', ''])('is left to grpc-js if it is invalid: %s', (timeout) => {
    const headers: IncomingHttpHeaders = { ':path': '/a', 'grpc-timeout': timeout };
    prepareForGrpcJs(headers, A, NONE);
    expect(headers).toEqual({ ':path': '/a', 'grpc-timeout': timeout });
  });

  it('is not taken from a header that the client forges', () => {
    const headers: IncomingHttpHeaders = { ':path': '/a', [TIMEOUT_MS_KEY]: '1' };
    prepareForGrpcJs(headers, A, NONE);
    expect(headers).toEqual({ ':path': '/a' });
  });
});

describe('a timeout of a streaming call', () => {
  it.each(['600H', '00000999H', '99999999H', '50000M', '2592000S'])(
    'is dropped if grpc-js would treat it as passed: %s',
    (timeout) => {
      const headers: IncomingHttpHeaders = { ':path': '/a', 'grpc-timeout': timeout };
      prepareForGrpcJs(headers, NONE, A);
      expect(headers).toEqual({ ':path': '/a' });
    },
  );

  it.each(['0H', '00000025H', '10M', '600S', '99999999m', '1n'])(
    'is kept if it is shorter: %s',
    (timeout) => {
      const headers: IncomingHttpHeaders = { ':path': '/a', 'grpc-timeout': timeout };
      prepareForGrpcJs(headers, NONE, A);
      expect(headers['grpc-timeout']).toBe(timeout);
    },
  );
});

describe('a value that metadata cannot carry', () => {
  it.each([
    ['an idempotency key is kept if it is visible ASCII', 'idempotency-key', 'a-1~', 'a-1~'],
    ['an idempotency key gets spaces', 'idempotency-key', 'caf\u00e9\t', 'caf  '],
    ['a credential gets question marks', 'authorization', 'Bearer caf\u00e9\t', 'Bearer caf??'],
  ])('%s', (_, name, value, kept) => {
    const headers: IncomingHttpHeaders = { ':path': '/a', [name]: value };
    prepareForGrpcJs(headers, A, NONE);
    expect(headers[name]).toBe(kept);
  });
});

describe('the content type', () => {
  it.each([
    'application/grpc-web',
    'application/grpc-web+proto',
    'application/grpc-web-text',
    'application/grpcx',
  ])('%s is refused with 415', async (contentType) => {
    const session = connectTo(await startTestServer());
    const stream = requestOn(session, ECHO, { 'content-type': contentType }).end(
      frameMessage(new Uint8Array()),
    );
    const [{ ':status': httpStatus }] = (await once(stream.resume(), 'response')) as [IncomingHttpHeaders];
    expect(httpStatus).toBe(415);
  });

  it.each(['application/grpc', 'application/grpc+proto', 'application/grpc;charset=utf-8'])(
    '%s is gRPC',
    async (contentType) => {
      const session = connectTo(await startTestServer());
      const stream = requestOn(session, ECHO, { 'content-type': contentType });
      expect((await outcomeOf(stream.end(frameMessage(new Uint8Array())))).code).toBe(status.OK);
    },
  );
});

describe('the headers of a call', () => {
  it.each([
    ['may have 16,384 bytes', 0, status.OK],
    ['may not have one byte more', 1, undefined],
  ])('%s, counted with 32 for each', async (_, more, code) => {
    const session = connectTo(await startTestServer());
    const plain = requestOn(session, ECHO, { 'x-a': '' }).end(frameMessage(new Uint8Array()));
    await outcomeOf(plain);
    const bytes = Object.entries(plain.sentHeaders).map(
      ([name, value]) => `${name}${String(value)}`.length + 32,
    );
    const left = 16_384 - bytes.reduce((sum, length) => sum + length);
    const call = requestOn(session, ECHO, { 'x-a': 'a'.repeat(left + more) });
    const outcome = await outcomeOf(call.end(frameMessage(new Uint8Array()))).catch(() => undefined);
    expect(outcome?.code).toBe(code);
  });
});

describe('a stream that is closed before grpc-js sees it', () => {
  it('does not crash the process, whatever its content type', async () => {
    const server = await startTestServer();
    const session = connectTo(server);
    const tooLong = { 'x-a': 'a'.repeat(9_000), 'x-b': 'b'.repeat(9_000) };
    const stream = requestOn(session, '/any', { ...tooLong, 'content-type': 'text/html' });
    stream.on('error', () => undefined).resume();
    await new Promise((resolve) => stream.once('close', resolve));
    expect(stream.rstCode).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    const { code } = await outcomeOf(requestOn(session, '/any').end());
    expect(code).toBe(status.UNIMPLEMENTED);
  });
});
