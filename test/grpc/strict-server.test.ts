import { once } from 'node:events';
import { constants, createServer, type IncomingHttpHeaders } from 'node:http2';
import { describe, expect, it } from 'vitest';
import { framed, outcomeOf, requestOn } from '../support/http2-call.js';
import { connectTo, ECHO, openDoor } from '../support/grpc-door.js';
import { status } from '@grpc/grpc-js';
import { listenersIn } from '../../src/grpc/strict-server.js';

describe('the HTTP/2 servers of grpc-js', () => {
  it('are the keys of a Map', () => {
    const server = createServer().on('session', () => undefined);
    expect(listenersIn(new Map([[server, {}]]))).toEqual([server]);
  });

  it.each([
    ['nothing', undefined],
    ['an array', [createServer()]],
    ['an empty Map', new Map()],
    ['a Map of something else', new Map([['a', {}]])],
    ['a server that takes no sessions', new Map([[createServer(), {}]])],
  ])('stop the start with a sentence that says what to do when they are %s', (_, found) => {
    expect(() => listenersIn(found)).toThrow(/@grpc\/grpc-js is not the one .* package-lock\.json\.$/);
  });
});

describe('the path of an unknown method', () => {
  it.each([
    ['as long as is kept', '/' + 'p'.repeat(19), '/' + 'p'.repeat(19)],
    ['longer', '/' + 'p'.repeat(10_000), '/' + 'p'.repeat(19)],
  ])('%s is kept from its beginning', async (_, path, kept) => {
    const door = await openDoor({ limits: { maxCallPathBytes: 20 } });
    const { code } = await outcomeOf(requestOn(connectTo(door), path).end());
    expect(code).toBe(status.UNIMPLEMENTED);
    expect(door.log).toEqual([expect.objectContaining({ path: kept })]);
  });
});

describe('the content type', () => {
  it.each([
    'application/grpc-web',
    'application/grpc-web+proto',
    'application/grpc-web-text',
    'application/grpcx',
  ])('%s is refused with 415', async (contentType) => {
    const session = connectTo(await openDoor());
    const stream = requestOn(session, ECHO, { 'content-type': contentType }).end(framed(new Uint8Array()));
    const [{ ':status': httpStatus }] = (await once(stream.resume(), 'response')) as [IncomingHttpHeaders];
    expect(httpStatus).toBe(415);
  });

  it.each(['application/grpc', 'application/grpc+proto', 'application/grpc;charset=utf-8'])(
    '%s is gRPC',
    async (contentType) => {
      const session = connectTo(await openDoor());
      const stream = requestOn(session, ECHO, { 'content-type': contentType });
      expect((await outcomeOf(stream.end(framed(new Uint8Array())))).code).toBe(status.OK);
    },
  );
});

describe('a stream that is closed before grpc-js sees it', () => {
  it('does not end the process, whatever its content type', async () => {
    const door = await openDoor();
    const session = connectTo(door);
    const tooLong = { 'x-a': 'a'.repeat(9_000), 'x-b': 'b'.repeat(9_000) };
    const stream = requestOn(session, '/any', { ...tooLong, 'content-type': 'text/html' });
    stream.on('error', () => undefined).resume();
    await new Promise((resolve) => stream.once('close', resolve));
    expect(stream.rstCode).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    const { code } = await outcomeOf(requestOn(session, '/any').end());
    expect(code).toBe(status.UNIMPLEMENTED);
  });
});
