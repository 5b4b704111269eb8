import {
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import { Metadata, status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { ChannelCall } from '../../src/gateway/channel-call.js';
import { Channel } from '../../src/gateway/channel.js';
import { channelUpstream, type ChannelUpstream } from '../../src/gateway/channel-upstream.js';
import { framed } from '../../src/gateway/grpc-framing.js';
import type { UnaryReply } from '../../src/gateway/upstream.js';
import { Caller } from '../support/caller.js';
import { Deferred } from './deferred.js';
import { type Answer, respond, serveSockets, serveStreams } from './http2-server.js';
import { opening } from './opening.js';
import { unaryCall } from './unary-call.js';

async function upstreamTo(
  answer: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void,
): Promise<ChannelUpstream> {
  const server = opening(await serveStreams(answer));
  return opening(channelUpstream(server.address));
}

async function replyTo(answer: (stream: ServerHttp2Stream) => void): Promise<UnaryReply> {
  const upstream = await upstreamTo(answer);
  return upstream.unary(unaryCall());
}

const OK = { 'grpc-status': '0' };
const LARGE = 4 * 1024 * 1024 + 1;

describe('a call of an upstream', () => {
  it('is a POST with the headers of gRPC, the metadata and one framed message', async () => {
    const seen = new Deferred<[IncomingHttpHeaders, Buffer]>();
    const upstream = await upstreamTo((stream, headers) => {
      void stream.toArray().then((chunks: Buffer[]) => {
        seen.resolve([headers, Buffer.concat(chunks)]);
        respond(stream, { body: framed(Buffer.from('yes')), trailers: OK });
      });
    });
    const metadata = new Metadata();
    metadata.add('x-sent', 'one');
    metadata.add('x-sent', 'two');
    metadata.set('te', 'mine');
    await upstream.unary(unaryCall({ metadata, path: '/a.B/C', message: Buffer.from('abc') }));
    const [headers, body] = await seen.promise;
    expect(headers).toMatchObject({
      ':method': 'POST',
      ':scheme': 'http',
      ':authority': expect.stringMatching(/^127\.0\.0\.1:\d+$/) as string,
      ':path': '/a.B/C',
      te: 'trailers',
      'content-type': 'application/grpc',
      'user-agent': expect.stringMatching(/^grpc-node-http2\/[\d.]+$/) as string,
      'grpc-timeout': expect.stringMatching(/^\d{4,5}m$/) as string,
      'x-sent': 'one, two',
    });
    expect(body).toEqual(Buffer.from('\0\0\0\0\x03abc'));
  });

  it('says no longer timeout than eight digits hold', async () => {
    const upstream = await upstreamTo((stream, headers) => {
      respond(stream, { trailers: { 'grpc-status': '5', 'grpc-message': String(headers['grpc-timeout']) } });
    });
    expect(await upstream.unary(unaryCall({ deadline: Infinity }))).toMatchObject({ details: '99999999m' });
  });

  it('takes an answer in pieces', async () => {
    const reply = await replyTo((stream) => {
      stream.respond({ ':status': 200 }, { waitForTrailers: true });
      stream.on('wantTrailers', () => {
        stream.sendTrailers(OK);
      });
      const [first, ...more] = [...framed(Buffer.from('abc'))].map((byte) => Buffer.from([byte]));
      stream.write(first, () => {
        for (const piece of more) stream.write(piece);
        stream.end();
      });
    });
    expect(reply).toMatchObject({ code: status.OK, message: Buffer.from('abc') });
  });

  it('takes a status without headers before it', async () => {
    const reply = await replyTo((stream) => {
      stream.respond(
        { ':status': 200, 'grpc-status': '5', 'grpc-message': 'no', 'x-more': 'm' },
        { endStream: true },
      );
    });
    expect(reply).toMatchObject({ code: status.NOT_FOUND, details: 'no' });
    expect(reply.trailers.get('x-more')).toEqual(['m']);
  });

  it('passes over an informational response', async () => {
    const reply = await replyTo((stream) => {
      stream.additionalHeaders({ ':status': 103 });
      respond(stream, { body: framed(Buffer.from('m')), trailers: OK });
    });
    expect(reply.code).toBe(status.OK);
  });

  it.each<[string, OutgoingHttpHeaders, boolean, status]>([
    ['with a status', { ':status': 200, 'grpc-status': '8' }, true, status.RESOURCE_EXHAUSTED],
    ['without a status', { ':status': 503 }, false, status.UNAVAILABLE],
  ])(
    'gives up a request that the server answers before it has read it, %s',
    async (_, headers, endStream, code) => {
      const closed = new Deferred();
      const upstream = await upstreamTo((stream) => {
        stream.pause().on('close', () => {
          closed.resolve();
        });
        stream.respond(headers, { endStream });
        stream.end();
      });
      const reply = await upstream.unary(unaryCall({ message: Buffer.alloc(1_000_000) }));
      expect(reply.code).toBe(code);
      await closed.promise;
    },
  );

  it('does not mind what still comes after it was given up', async () => {
    const upstream = await upstreamTo((stream) => {
      stream.respond({ ':status': 200 });
      const timer = setInterval(() => stream.write(Buffer.alloc(100)), 1);
      stream.on('close', () => {
        clearInterval(timer);
      });
    });
    expect((await upstream.unary(unaryCall({ deadline: Date.now() + 30 }))).code).toBe(
      status.DEADLINE_EXCEEDED,
    );
  });
});

describe('a call that has ended', () => {
  it('does not mind a connection that is lost later', async () => {
    const server = opening(await serveSockets(() => undefined));
    const channel = opening(new Channel(server.address));
    const caller = new Caller();
    const codes: status[] = [];
    const call = new ChannelCall(unaryCall({ cancellation: caller }), channel, ({ code }) =>
      codes.push(code),
    );
    caller.go();
    call.leave('The connection was lost.');
    expect(codes).toEqual([status.CANCELLED]);
  });
});

describe('an answer that is none of gRPC', () => {
  it.each<[string, Answer, status]>([
    ['OK without a message', { trailers: OK }, status.INTERNAL],
    ['OK with half a message', { body: Buffer.from([0, 0, 0, 0, 9, 1]), trailers: OK }, status.INTERNAL],
    ['OK with a compressed message', { body: Buffer.from([1, 0, 0, 0, 0]), trailers: OK }, status.INTERNAL],
    ['OK with two messages', { body: Buffer.alloc(10), trailers: OK }, status.INTERNAL],
    [
      'OK with a message that is too large',
      { body: framed(Buffer.alloc(LARGE)), trailers: OK },
      status.RESOURCE_EXHAUSTED,
    ],
    ['the end without a status', { body: framed(Buffer.from('m')) }, status.UNKNOWN],
    ['trailers without a status', { trailers: { 'x-more': 'm' } }, status.UNKNOWN],
    ['a status that is none', { trailers: { 'grpc-status': 'ok' } }, status.UNKNOWN],
    ['a page of a proxy', { status: 502, body: Buffer.from('<html>') }, status.UNAVAILABLE],
    [
      'a large page of a proxy',
      { status: 403, body: Buffer.alloc(LARGE + 5, '<') },
      status.PERMISSION_DENIED,
    ],
    ['an HTTP status alone', { status: 404 }, status.UNIMPLEMENTED],
  ])('%s', async (_, answer, code) => {
    const reply = await replyTo((stream) => {
      respond(stream, answer);
    });
    expect(reply.code).toBe(code);
    expect(reply.message).toBeUndefined();
  });

  it.each([
    ['INTERNAL_ERROR', constants.NGHTTP2_INTERNAL_ERROR, status.INTERNAL],
    ['REFUSED_STREAM', constants.NGHTTP2_REFUSED_STREAM, status.UNAVAILABLE],
    ['CANCEL', constants.NGHTTP2_CANCEL, status.CANCELLED],
    ['ENHANCE_YOUR_CALM', constants.NGHTTP2_ENHANCE_YOUR_CALM, status.RESOURCE_EXHAUSTED],
  ])('a reset by %s', async (_, http2Code, code) => {
    const reply = await replyTo((stream) => {
      stream.close(http2Code);
    });
    expect(reply.code).toBe(code);
  });

  it('a reset within the message', async () => {
    const reply = await replyTo((stream) => {
      stream.respond({ ':status': 200 });
      stream.write(Buffer.from([0, 0, 0]), () => {
        // A close would end the message before the reset.
        stream.destroy(new Error('broken'));
      });
    });
    expect(reply.code).toBe(status.INTERNAL);
  });
});
