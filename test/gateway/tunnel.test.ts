import { EventEmitter } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import {
  Metadata,
  type sendUnaryData,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  status,
} from '@grpc/grpc-js';
import { describe, expect, it, vi } from 'vitest';
import { channelUpstream, type ChannelUpstream } from '../../src/gateway/channel-upstream.js';
import {
  type Call,
  type OpenTunnelRequest,
  type OpenTunnelResponse,
  type Reply,
  type TunnelServiceClient,
  TunnelServiceService,
} from '../../src/gen/tunnel/v1/tunnel_service.js';
import { Caller } from '../support/caller.js';
import { startTcpProxy } from '../support/tcp-proxy.js';
import { opening } from './opening.js';
import { Tunnel } from '../../src/gateway/tunnel.js';
import type { UnaryCall } from '../../src/gateway/upstream.js';
import { PATH, unaryCall } from './unary-call.js';

/** A server whose tunnels are in the hands of the test. */
interface TunnelServer {
  readonly port: number;
  /** The tunnels that were opened, in their order. */
  readonly tunnels: ServerEnd[];
  /** Calls that came by themselves. */
  readonly alone: string[];
}

class ServerEnd {
  readonly calls: Call[] = [];
  readonly cancelled: number[] = [];
  ended = false;
  readonly #stream: ServerDuplexStream<OpenTunnelRequest, OpenTunnelResponse>;

  constructor(stream: ServerDuplexStream<OpenTunnelRequest, OpenTunnelResponse>) {
    this.#stream = stream;
    stream.on('data', ({ calls, cancelledCallIds }: OpenTunnelRequest) => {
      this.calls.push(...calls);
      this.cancelled.push(...cancelledCallIds);
    });
    stream.on('end', () => {
      this.ended = true;
      stream.end();
    });
  }

  send(response: Partial<OpenTunnelResponse> = {}): void {
    this.#stream.write({ replies: [], draining: false, ...response });
  }

  /** Replies with the message of the call, unless something else is given. */
  reply({ id, message }: Call, more: Partial<Reply> = {}): void {
    this.send({ replies: [{ callId: id, code: status.OK, details: '', message, trailers: [], ...more }] });
  }

  fail(code: status): void {
    this.#stream.emit('error', { code, details: 'so' });
  }
}

/** Takes tunnels, and calls that come by themselves. */
async function serve(): Promise<TunnelServer> {
  const server = new Server();
  const tunnels: ServerEnd[] = [];
  const alone: string[] = [];
  server.addService(TunnelServiceService, {
    openTunnel: (stream: ServerDuplexStream<OpenTunnelRequest, OpenTunnelResponse>) => {
      tunnels.push(new ServerEnd(stream));
    },
  });
  server.register<Buffer, Buffer>(
    PATH,
    (call: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>) => {
      alone.push(call.request.toString());
      answer(null, call.request);
    },
    same,
    same,
    'unary',
  );
  const port = await new Promise<number>((resolve) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (_, bound) => {
      resolve(bound);
    });
  });
  opening({
    close: () => {
      server.forceShutdown();
    },
  });
  return { port, tunnels, alone };
}

function same(bytes: Buffer): Buffer {
  return bytes;
}

/** A server, and an upstream that has a tunnel to it. */
async function open(): Promise<{ server: TunnelServer; upstream: ChannelUpstream; tunnel: ServerEnd }> {
  const server = await serve();
  const upstream = opening(channelUpstream(`127.0.0.1:${server.port}`));
  const first = upstream.unary(messageCall('first'));
  const tunnel = await tunnelOf(server, 0);
  tunnel.send();
  await first;
  // The first message of the tunnel is there before the reply to a later call.
  await upstream.unary(messageCall('second'));
  return { server, upstream, tunnel };
}

function tunnelOf({ tunnels }: TunnelServer, index: number): Promise<ServerEnd> {
  return vi.waitUntil(() => tunnels[index]);
}

function callOf({ calls }: ServerEnd, index: number): Promise<Call> {
  return vi.waitUntil(() => calls[index]);
}

function messageCall(message: string, more: Partial<UnaryCall> = {}): UnaryCall {
  return unaryCall({ message: Buffer.from(message), ...more });
}

describe('a tunnel', () => {
  it('carries the calls that come after the server took it', async () => {
    const { server, upstream, tunnel } = await open();
    const metadata = new Metadata();
    metadata.set('sent', 'yes');
    const reply = upstream.unary(messageCall('third', { metadata }));
    const call = await callOf(tunnel, 0);
    expect(call).toMatchObject({
      path: PATH,
      message: Buffer.from('third'),
      metadata: [{ name: 'sent', value: 'yes' }],
    });
    expect(call.timeoutMs).toBeGreaterThan(5_000);
    tunnel.reply(call, { trailers: [{ name: 'back', value: 'yes' }] });
    const { code, message, trailers } = await reply;
    expect([code, message, trailers.get('back')]).toEqual([status.OK, Buffer.from('third'), ['yes']]);
    expect(server.alone).toEqual(['first', 'second']);
  });

  it('carries the calls of the same turn in one message, each to its own reply', async () => {
    const { upstream, tunnel } = await open();
    const replies = ['a', 'b', 'c'].map(async (text) => (await upstream.unary(messageCall(text))).message);
    const calls = [await callOf(tunnel, 0), ...tunnel.calls.slice(1)];
    expect(calls.map(({ message }) => String(message))).toEqual(['a', 'b', 'c']);
    for (const call of calls.reverse()) tunnel.reply(call);
    expect((await Promise.all(replies)).map(String)).toEqual(['a', 'b', 'c']);
  });

  it('leaves a message of more than a MiB to go by itself', async () => {
    const { server, upstream, tunnel } = await open();
    const message = Buffer.alloc(1024 * 1024 + 1);
    expect((await upstream.unary(unaryCall({ message }))).message?.length).toBe(message.length);
    expect([server.alone.length, tunnel.calls.length]).toEqual([3, 0]);
  });

  it('leaves calls beyond 65,536 under way to go by themselves', async () => {
    const { server, upstream, tunnel } = await open();
    const replies = Array.from({ length: 65_536 }, () => upstream.unary(messageCall('x')));
    await upstream.unary(messageCall('y'));
    expect(server.alone.at(-1)).toBe('y');
    const last = await callOf(tunnel, 65_535);
    expect(last.id).toBe(65_535);
    tunnel.reply(last);
    await replies.at(-1);
    void upstream.unary(messageCall('z'));
    await expect(callOf(tunnel, 65_536)).resolves.toMatchObject({ id: 65_535, message: Buffer.from('z') });
  });

  it('tells the server of a caller who has gone, and keeps the id until the reply', async () => {
    const { upstream, tunnel } = await open();
    const caller = new Caller();
    const reply = upstream.unary(messageCall('a', { cancellation: caller }));
    const call = await callOf(tunnel, 0);
    caller.go();
    expect((await reply).code).toBe(status.CANCELLED);
    const next = upstream.unary(messageCall('b'));
    const nextCall = await callOf(tunnel, 1);
    expect(tunnel.cancelled).toEqual([call.id]);
    expect(nextCall.id).not.toBe(call.id);
    tunnel.reply(call, { code: status.CANCELLED });
    tunnel.reply(nextCall);
    expect(String((await next).message)).toBe('b');
    void upstream.unary(messageCall('c'));
    void upstream.unary(messageCall('d'));
    await callOf(tunnel, 3);
    expect(tunnel.calls.slice(2).map(({ id }) => id)).toEqual([nextCall.id, call.id]);
  });

  it('cancels no call in place of an answered one whose id it has', async () => {
    const sent: OpenTunnelRequest[] = [];
    // A socket can not be brought to do both in one turn.
    const stream = Object.assign(new EventEmitter(), {
      write: (request: OpenTunnelRequest) => sent.push(request),
    });
    const tunnel = new Tunnel(
      { openTunnel: () => stream } as unknown as TunnelServiceClient,
      () => undefined,
    );
    stream.emit('data', { replies: [], draining: false });
    const caller = new Caller();
    const gone = tunnel.carry(messageCall('a', { cancellation: caller }));
    await setImmediate();
    caller.go();
    const reply = { callId: 0, code: status.OK, details: '', message: Buffer.alloc(0), trailers: [] };
    stream.emit('data', { replies: [reply], draining: false });
    void tunnel.carry(messageCall('b'));
    await setImmediate();
    expect((await gone).code).toBe(status.CANCELLED);
    expect(sent.map(({ calls, cancelledCallIds }) => [calls.map(({ id }) => id), cancelledCallIds])).toEqual([
      [[0], []],
      [[0], []],
    ]);
    stream.emit('status', { code: status.OK, details: '' });
  });

  it('does not mind replies to calls that it does not know', async () => {
    const { upstream, tunnel } = await open();
    const reply = upstream.unary(messageCall('a'));
    const call = await callOf(tunnel, 0);
    tunnel.reply({ ...call, id: call.id + 1 });
    tunnel.reply(call);
    tunnel.reply(call);
    expect((await reply).code).toBe(status.OK);
    void upstream.unary(messageCall('b'));
    void upstream.unary(messageCall('c'));
    expect((await callOf(tunnel, 2)).id).not.toBe((await callOf(tunnel, 1)).id);
  });

  it('turns a code that gRPC does not have into UNKNOWN', async () => {
    const { upstream, tunnel } = await open();
    const reply = upstream.unary(messageCall('a'));
    tunnel.reply(await callOf(tunnel, 0), { code: 99, details: 'odd' });
    expect(await reply).toMatchObject({ code: status.UNKNOWN, details: 'odd' });
  });

  it('turns a reply that can not be read into INTERNAL', async () => {
    const { upstream, tunnel } = await open();
    const reply = upstream.unary(messageCall('a'));
    tunnel.reply(await callOf(tunnel, 0), { trailers: [{ name: 'a b', value: '' }] });
    expect((await reply).code).toBe(status.INTERNAL);
  });

  it('ends its calls as UNAVAILABLE when it ends before them, and another one follows', async () => {
    const { server, upstream, tunnel } = await open();
    const replies = ['a', 'b'].map(async (text) => upstream.unary(messageCall(text)));
    await callOf(tunnel, 1);
    tunnel.fail(status.INTERNAL);
    const lost = { code: status.UNAVAILABLE, details: 'The tunnel ended: INTERNAL: so' };
    expect(await Promise.all(replies)).toMatchObject([lost, lost]);
    await upstream.unary(messageCall('c'));
    expect(server.alone.at(-1)).toBe('c');
    expect(server.tunnels.length).toBe(2);
  });

  it('that drains takes no more calls, and is ended when its own have replies', async () => {
    const { server, upstream, tunnel } = await open();
    tunnel.send({ draining: true });
    const replies: Promise<unknown>[] = [];
    await vi.waitUntil(() => {
      replies.push(Promise.resolve(upstream.unary(messageCall('a'))));
      return server.tunnels.length === 2;
    });
    await upstream.unary(messageCall('b'));
    const carried = [...tunnel.calls];
    expect(tunnel.ended).toBe(false);
    for (const call of carried) tunnel.reply(call);
    await vi.waitUntil(() => tunnel.ended);
    await Promise.all(replies);
    expect([carried.length > 0, tunnel.calls]).toEqual([true, carried]);
  });

  it('is ended when the channel is closed, once its calls have replies', async () => {
    const { upstream, tunnel } = await open();
    const reply = upstream.unary(messageCall('a'));
    const call = await callOf(tunnel, 0);
    upstream.close();
    tunnel.reply(call);
    expect((await reply).code).toBe(status.OK);
    await vi.waitUntil(() => tunnel.ended);
  });

  it('is not asked for again at once where it was refused, but later', async () => {
    const server = await serve();
    const upstream = opening(channelUpstream(`127.0.0.1:${server.port}`));
    await upstream.unary(messageCall('a'));
    (await tunnelOf(server, 0)).fail(status.UNIMPLEMENTED);
    await vi.waitUntil(
      async () => {
        await upstream.unary(messageCall('b'));
        return server.tunnels.length === 2;
      },
      { timeout: 5_000 },
    );
    expect(server.alone.length).toBeGreaterThan(3);
  });

  it('ends when the server falls silent', async () => {
    const server = await serve();
    const proxy = opening(await startTcpProxy(server.port));
    const upstream = opening(
      channelUpstream(`127.0.0.1:${proxy.port}`, {
        'grpc.keepalive_time_ms': 100,
        'grpc.keepalive_timeout_ms': 100,
      }),
    );
    await upstream.unary(messageCall('a'));
    (await tunnelOf(server, 0)).send();
    await upstream.unary(messageCall('b'));
    proxy.loseConnections();
    expect((await upstream.unary(messageCall('c'))).code).toBe(status.UNAVAILABLE);
  });
});
