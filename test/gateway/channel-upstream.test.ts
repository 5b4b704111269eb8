import { createServer, type Server, type Socket } from 'node:net';
import { Metadata, status } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { channelUpstream, type ChannelUpstream } from '../../src/gateway/channel-upstream.js';
import type { UnaryCall, UnaryReply } from '../../src/gateway/upstream.js';
import { listen } from './grpc-server.js';

const PATH = '/library.v1.Probe/Echo';
const opened: { close: () => unknown }[] = [];
afterEach(() => {
  for (const each of opened.splice(0).reverse()) each.close();
});

function opening<T extends { close: () => unknown }>(it: T): T {
  opened.push(it);
  return it;
}

async function upstreamTo(
  unary: (call: Pick<UnaryCall, 'message' | 'metadata' | 'signal'>) => Promise<UnaryReply>,
): Promise<ChannelUpstream> {
  const server = opening(await listen({ unary }, [PATH]));
  return opening(channelUpstream(server.address));
}

function call(more: Partial<UnaryCall> = {}): UnaryCall {
  const never = new AbortController().signal;
  return {
    path: PATH,
    message: Buffer.from('abc'),
    metadata: new Metadata(),
    deadline: Date.now() + 10_000,
    signal: never,
    ...more,
  };
}

function trailersOf(name: string, value: string | Buffer): Metadata {
  const trailers = new Metadata();
  trailers.set(name, value);
  return trailers;
}

describe('an upstream over a channel', () => {
  it('carries message, metadata and trailers unchanged', async () => {
    const upstream = await upstreamTo(({ message, metadata }) =>
      Promise.resolve({
        code: status.OK,
        details: '',
        message,
        trailers: trailersOf('seen', String(metadata.get('sent'))),
      }),
    );
    const message = new Uint8Array([9, 0, 255, 9]).subarray(1, 3);
    const reply = await upstream.unary(call({ message, metadata: trailersOf('sent', 'yes') }));
    expect(reply.code).toBe(status.OK);
    expect([...(reply.message ?? [])]).toEqual([0, 255]);
    expect(reply.trailers.get('seen')).toEqual(['yes']);
  });

  it('carries status, details and their trailers unchanged', async () => {
    const details = 'not 100% "found"\n📚';
    const trailers = trailersOf('grpc-status-details-bin', Buffer.from([1, 2, 255]));
    const upstream = await upstreamTo(() => Promise.resolve({ code: status.NOT_FOUND, details, trailers }));
    const reply = await upstream.unary(call());
    expect(reply).toMatchObject({ code: status.NOT_FOUND, details });
    expect(reply.trailers.get('grpc-status-details-bin')).toEqual([Buffer.from([1, 2, 255])]);
    expect(reply.message).toBeUndefined();
  });

  it('ends with the deadline', async () => {
    const upstream = await upstreamTo(() => new Promise(() => undefined));
    const reply = await upstream.unary(call({ deadline: Date.now() + 50 }));
    expect(reply.code).toBe(status.DEADLINE_EXCEEDED);
  });

  it('ends at once with a deadline that has passed', async () => {
    const upstream = await upstreamTo(() => new Promise(() => undefined));
    expect((await upstream.unary(call({ deadline: 1 }))).code).toBe(status.DEADLINE_EXCEEDED);
  });

  it('ends with the caller, and tells the server', async () => {
    const caller = new AbortController();
    const told = new Promise<void>((resolve) => {
      void upstreamTo(({ signal }) => {
        signal.addEventListener('abort', () => {
          resolve();
        });
        caller.abort();
        return new Promise(() => undefined);
      }).then(async (upstream) => {
        const reply = await upstream.unary(call({ signal: caller.signal }));
        expect(reply.code).toBe(status.CANCELLED);
      });
    });
    await told;
  });

  it('makes no call for a caller who has gone', async () => {
    const upstream = await upstreamTo(() => Promise.reject(new Error('called')));
    expect((await upstream.unary(call({ signal: AbortSignal.abort() }))).code).toBe(status.CANCELLED);
  });

  it('is UNAVAILABLE where no server is', async () => {
    const server = await listen({ unary: () => new Promise(() => undefined) }, [PATH]);
    server.close();
    const upstream = opening(channelUpstream(server.address));
    expect((await upstream.unary(call())).code).toBe(status.UNAVAILABLE);
  });

  it('is UNAVAILABLE where something else than gRPC answers', async () => {
    const sockets: Socket[] = [];
    const server: Server = createServer((socket) => {
      sockets.push(socket);
      socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    opening({ close: () => server.close() });
    const { port } = server.address() as { port: number };
    const upstream = opening(channelUpstream(`127.0.0.1:${port}`));
    expect((await upstream.unary(call())).code).toBe(status.UNAVAILABLE);
  });

  it('reaches a server that came back', async () => {
    const unary = ({ message }: Pick<UnaryCall, 'message'>): Promise<UnaryReply> =>
      Promise.resolve({ code: status.OK, details: '', message, trailers: new Metadata() });
    const first = await listen({ unary }, [PATH]);
    const upstream = opening(channelUpstream(first.address));
    expect((await upstream.unary(call())).code).toBe(status.OK);
    first.close();
    expect((await upstream.unary(call())).code).toBe(status.UNAVAILABLE);
    opening(await listen({ unary }, [PATH], first.address));
    await expect.poll(async () => (await upstream.unary(call())).code, { timeout: 10_000 }).toBe(status.OK);
  });

  it('is UNIMPLEMENTED for a method that the server does not know', async () => {
    const upstream = await upstreamTo(() => Promise.reject(new Error('called')));
    expect((await upstream.unary(call({ path: '/library.v1.Probe/Nothing' }))).code).toBe(
      status.UNIMPLEMENTED,
    );
  });

  it('is INTERNAL where the server ends well without a message', async () => {
    const upstream = await upstreamTo(() =>
      Promise.resolve({ code: status.OK, details: '', trailers: new Metadata() }),
    );
    expect((await upstream.unary(call())).code).toBe(status.INTERNAL);
  });

  it('is UNAVAILABLE once it is closed', async () => {
    const upstream = await upstreamTo(() => Promise.reject(new Error('called')));
    upstream.close();
    expect((await upstream.unary(call())).code).toBe(status.UNAVAILABLE);
  });
});
