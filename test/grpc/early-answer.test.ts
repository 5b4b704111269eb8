import { Client, credentials, Metadata, status } from '@grpc/grpc-js';
import { constants } from 'node:http2';
import { describe, expect, it } from 'vitest';
import { REFLECTION_PATHS } from '../../src/grpc/reflection.js';
import { framed, outcomeOf, requestOn } from '../support/http2-call.js';
import { connectTo, ECHO, GUARDED, openDoor } from '../support/grpc-door.js';

/** A message that is larger than the server takes, and far from complete. */
const ENDLESS = Buffer.from([0, 0x7f, 0xff, 0xff, 0xff, 1, 2, 3]);
const UNKNOWN = '/test.Service/Unknown';

describe('a request that was answered before it was complete', () => {
  it.each([
    ['too large, of a stranger', GUARDED, ENDLESS, status.UNAUTHENTICATED],
    ['too large', ECHO, ENDLESS, status.RESOURCE_EXHAUSTED],
    ['of an unknown method', UNKNOWN, framed(new Uint8Array()), status.UNIMPLEMENTED],
    ['too large, of reflection', REFLECTION_PATHS[0] ?? '', ENDLESS, status.RESOURCE_EXHAUSTED],
  ])('is reset, and the client has its status: %s', async (_, path, piece, code) => {
    const stream = requestOn(connectTo(await openDoor()), path);
    stream.write(piece);
    expect(await outcomeOf(stream)).toMatchObject({ code });
    expect(stream.rstCode).toBe(constants.NGHTTP2_NO_ERROR);
  });

  it('is reset after all messages of the answer and its trailers', async () => {
    const door = await openDoor({ times: { reflectionMs: 100 } });
    const stream = requestOn(connectTo(door), REFLECTION_PATHS[0] ?? '');
    stream.write(framed(Buffer.from([0x3a, 1, 0x2a])));
    const received: Buffer[] = [];
    stream.on('data', (data: Buffer) => received.push(data));
    expect(await outcomeOf(stream)).toMatchObject({ code: status.DEADLINE_EXCEEDED });
    expect(Buffer.concat(received).toString('latin1')).toContain('routing.v1.RouteService');
  });

  it.each([
    ['too large, of a stranger', GUARDED, {}, ENDLESS],
    ['too large', ECHO, {}, ENDLESS],
    ['too large, and sent on', ECHO, {}, Buffer.concat([ENDLESS, Buffer.alloc(60_000)])],
    ['of an unknown method', UNKNOWN, {}, framed(new Uint8Array())],
    ['of an unknown method, and sent on', UNKNOWN, {}, framed(new Uint8Array(60_000))],
    ['of another content type', ECHO, { 'content-type': 'text/plain' }, framed(new Uint8Array(60_000))],
    ['too large, of reflection', REFLECTION_PATHS[0] ?? '', {}, ENDLESS],
    ['a second message', ECHO, {}, Buffer.concat([framed(Buffer.from('m')), framed(Buffer.from('m'))])],
  ])('leaves its place to the next one: %s', async (_, path, headers, piece) => {
    const session = connectTo(await openDoor({ limits: { maxStreams: 4 } }));
    const resets: number[] = [];
    for (let made = 0; made < 20; made++) {
      const stream = requestOn(session, path, headers).on('error', () => undefined);
      stream.write(piece);
      await outcomeOf(stream);
      resets.push(stream.rstCode);
    }
    expect(resets).toEqual(Array(20).fill(constants.NGHTTP2_NO_ERROR));
  });

  it('has its status in grpc-js too', async () => {
    const client = new Client((await openDoor()).address, credentials.createInsecure());
    const same = (bytes: Buffer): Buffer => bytes;
    const call = client.makeClientStreamRequest(GUARDED, same, same, new Metadata(), () => undefined);
    const ended = new Promise<number>((resolve) =>
      call.on('status', ({ code }) => {
        resolve(code);
      }),
    );
    call.write(Buffer.alloc(1_000_000));
    await expect(ended).resolves.toBe(status.UNAUTHENTICATED);
    client.close();
  });
});

describe('a request that is complete', () => {
  it('is answered without a reset', async () => {
    const session = connectTo(await openDoor());
    const stream = requestOn(session, ECHO).end(framed(Buffer.from('m')));
    expect(await outcomeOf(stream)).toMatchObject({ code: status.OK });
    expect(stream.rstCode).toBe(constants.NGHTTP2_NO_ERROR);
  });
});
