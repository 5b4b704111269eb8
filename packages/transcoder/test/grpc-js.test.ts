import { once } from 'node:events';
import { constants, type OutgoingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { setImmediate } from 'node:timers/promises';
import {
  type ChannelCredentials,
  type ChannelOptions,
  credentials,
  Metadata,
  ServerCredentials,
  status,
} from '@grpc/grpc-js';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type GrpcUpstream, grpcUpstream } from '../src/grpc-js.js';
import type { UnaryCall, UnaryReply } from '../src/upstream.js';
import { certificates } from '../../client/test/support/certificates.js';
import { Caller } from './support/caller.js';
import { Deferred } from './support/deferred.js';
import { type GrpcReply, listen } from './support/grpc-server.js';
import { startHttp2Server } from './support/http2-server.js';
import { opening } from './support/opening.js';
import { resetAfterHeaders, serveSockets } from './support/socket-server.js';
import { PATH, unaryCall } from './support/unary-call.js';

type Answer = (call: UnaryCall) => GrpcReply | Promise<GrpcReply>;

/** An upstream without TLS. */
function upstreamAt(target: string, channelOptions?: ChannelOptions): GrpcUpstream {
  return grpcUpstream(target, {
    credentials: credentials.createInsecure(),
    ...(channelOptions && { channelOptions }),
  });
}

/** An upstream to a server with one method. */
async function upstreamTo(unary: Answer, channelOptions?: ChannelOptions): Promise<GrpcUpstream> {
  const server = opening(await listen({ unary }, [PATH]));
  return opening(upstreamAt(server.address, channelOptions));
}

const OK = { code: status.OK, details: '', answered: true, trailers: new Metadata() };
const echo: Answer = ({ message }) => ({ ...OK, message });
const refuse: Answer = () => Promise.reject(new Error('called'));
function metadataOf(name: string, value: string | Buffer): Metadata {
  const metadata = new Metadata();
  metadata.set(name, value);
  return metadata;
}

describe('an upstream over a channel', () => {
  it('carries message, metadata and trailers unchanged', async () => {
    const upstream = await upstreamTo(({ message, metadata }) => ({
      ...OK,
      message,
      trailers: metadataOf('seen-bin', Buffer.from(metadata.get('sent') ?? '')),
    }));
    const message = new Uint8Array([9, 0, 255, 9]).subarray(1, 3);
    const reply = await upstream.unary(unaryCall({ message, metadata: new Map([['sent', 'yes']]) }));
    expect(reply.code).toBe(status.OK);
    expect([...(reply.message ?? [])]).toEqual([0, 255]);
    expect(reply.trailers?.get('seen-bin')).toEqual([Buffer.from('yes')]);
  });

  it('fails a reply larger than maxReplyBytes as unanswered, with details for the log', async () => {
    const server = opening(await listen({ unary: echo }, [PATH]));
    const upstream = opening(
      grpcUpstream(server.address, { credentials: credentials.createInsecure(), maxReplyBytes: 1_000 }),
    );
    expect((await upstream.unary(unaryCall({ message: Buffer.alloc(1_000) }))).code).toBe(status.OK);
    const reply = await upstream.unary(unaryCall({ message: Buffer.alloc(1_001) }));
    expect(reply).toEqual({
      code: status.INTERNAL,
      details: 'The reply is larger than maxReplyBytes. Received message larger than max (1001 vs 1000)',
      answered: false,
      clientMessage: 'The reply is larger than 1000 bytes, the maximum.',
    });
  });

  it('carries status, details and their trailers unchanged', async () => {
    const details = 'not 100% "found"\n📚';
    const trailers = metadataOf('grpc-status-details-bin', Buffer.from([1, 2, 255]));
    const upstream = await upstreamTo(() => ({ code: status.NOT_FOUND, details, answered: true, trailers }));
    const reply = await upstream.unary(unaryCall());
    expect(reply).toMatchObject({ code: status.NOT_FOUND, details, answered: true });
    expect(reply.trailers?.get('grpc-status-details-bin')).toEqual([Buffer.from([1, 2, 255])]);
    expect(reply.message).toBeUndefined();
  });

  it('cancels a call when its client disconnects and tells the server', async () => {
    const caller = new Caller();
    const told = new Deferred<boolean>();
    const upstream = await upstreamTo(({ cancellation }) => {
      cancellation.onCancelled(() => {
        told.resolve(cancellation.cancelled);
      });
      caller.go();
      return new Promise(() => undefined);
    });
    const reply = await upstream.unary(unaryCall({ cancellation: caller }));
    expect(reply.code).toBe(status.CANCELLED);
    expect(await told.promise).toBe(true);
  });

  it('is unaffected by a client that disconnects after the response', async () => {
    const upstream = await upstreamTo(echo);
    const caller = new Caller();
    expect((await upstream.unary(unaryCall({ cancellation: caller }))).code).toBe(status.OK);
    caller.go();
    expect((await upstream.unary(unaryCall())).code).toBe(status.OK);
  });

  it('returns UNAVAILABLE once it is closed', async () => {
    const upstream = await upstreamTo(echo);
    await upstream.unary(unaryCall());
    upstream.close();
    expect((await upstream.unary(unaryCall())).code).toBe(status.UNAVAILABLE);
  });
});

describe('a stream over a channel', () => {
  it.each([
    { why: 'its client has disconnected', more: { cancellation: new Caller().go() }, code: status.CANCELLED },
    { why: 'its deadline has passed', more: { deadline: 1 }, code: status.DEADLINE_EXCEEDED },
  ])('is not started if $why, nor is a call', async ({ more, code }) => {
    const upstream = await upstreamTo(refuse);
    expect(await upstream.unary(unaryCall(more))).toMatchObject({ code, answered: false });
    const stream = upstream.serverStream(unaryCall(more));
    expect(await stream.next()).toMatchObject({ code, answered: false });
  });

  it('runs to its end even if the credentials are renewed meanwhile', async () => {
    const upstream = await upstreamTo(echo);
    const stream = upstream.serverStream(unaryCall());
    upstream.renew(credentials.createInsecure());
    // The method is unary, so it sends one message.
    expect(await stream.next()).toEqual(Buffer.from('abc'));
    expect(await stream.next()).toMatchObject({ code: status.OK, answered: true });
  });
});

describe('a call over a channel', () => {
  it.each([
    ['connection', 'close'],
    ['transfer-encoding', 'chunked'],
    [':path', '/x'],
    ['trace-bin', 'AAA='],
    ['x-name', 'ü'],
  ])(
    'fails with INTERNAL if its metadata cannot be sent, and the connection stays open: %s',
    async (key, value) => {
      const upstream = await upstreamTo(echo);
      const metadata = new Map([[key, value]]);
      expect((await upstream.unary(unaryCall({ metadata }))).code).toBe(status.INTERNAL);
      expect((await upstream.unary(unaryCall())).code).toBe(status.OK);
    },
  );
});

describe('the connection of an upstream', () => {
  it('is made directly even if the environment names a proxy', async () => {
    const proxy = opening(await serveSockets((socket) => socket.destroy()));
    process.env['http_proxy'] = `http://${proxy.address}`;
    opening({ close: () => delete process.env['http_proxy'] });
    const upstream = await upstreamTo(echo);
    expect((await upstream.unary(unaryCall())).code).toBe(status.OK);
    expect(proxy.connections()).toBe(0);
  });

  it('is retried soon, but not at once', async () => {
    const server = opening(await serveSockets((socket) => socket.destroy()));
    const upstream = opening(upstreamAt(server.address));
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const codes = await Promise.all([1, 2, 3].map(async () => upstream.unary(unaryCall())));
    expect(codes.map(({ code }) => code)).toEqual(Array(3).fill(status.UNAVAILABLE));
    for (let made = 0; made < 50; made++)
      expect((await upstream.unary(unaryCall())).code).toBe(status.UNAVAILABLE);
    expect(server.connections()).toBe(1);
    // The first wait is 100 ms, or up to a fifth more.
    vi.advanceTimersByTime(120);
    while (server.connections() === 1) await setImmediate();
  });

  it('keeps each call waiting until its deadline or its cancellation if the server never responds', async () => {
    const server = opening(await serveSockets(() => undefined));
    const upstream = opening(upstreamAt(server.address));
    const caller = new Caller();
    const [short, gone] = [
      upstream.unary(unaryCall({ deadline: Date.now() + 20 })),
      upstream.unary(unaryCall({ cancellation: caller })),
    ];
    expect((await short).code).toBe(status.DEADLINE_EXCEEDED);
    caller.go();
    expect((await gone).code).toBe(status.CANCELLED);
    await expect.poll(() => server.connections()).toBe(1);
  });

  it('leaves no open socket once the upstream is closed', async () => {
    const closed = new Deferred();
    const server = opening(
      await serveSockets((socket) => {
        void once(socket, 'close').then(() => {
          closed.resolve();
        });
        // The server's HTTP/2 preface: an empty SETTINGS frame.
        socket.resume().write(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]));
      }),
    );
    const upstream = upstreamAt(server.address);
    const reply = await upstream.unary(unaryCall({ deadline: Date.now() + 50 }));
    expect(reply.code).toBe(status.DEADLINE_EXCEEDED);
    upstream.close();
    await closed.promise;
  });
});

describe('a failure', () => {
  it('counts as answered if the server sent it, even without error details', async () => {
    const upstream = await upstreamTo(() => ({ ...OK, code: status.NOT_FOUND, details: 'None.' }));
    const reply = await upstream.unary(unaryCall());
    expect(reply).toMatchObject({ code: status.NOT_FOUND, details: 'None.', answered: true });
  });

  /** Starts a response and leaves it open. */
  const begin = (stream: ServerHttp2Stream, headers: OutgoingHttpHeaders = {}): ServerHttp2Stream => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc', ...headers });
    return stream;
  };
  /** Responds with headers and trailers, without a message. */
  const endWith = (trailers: OutgoingHttpHeaders, headers: OutgoingHttpHeaders = {}) => {
    return (stream: ServerHttp2Stream) => {
      const all = { ':status': 200, 'content-type': 'application/grpc', ...headers };
      stream.respond(all, { waitForTrailers: true });
      stream.on('wantTrailers', () => {
        stream.sendTrailers(trailers);
      });
      stream.end();
    };
  };
  const { UNAVAILABLE, INTERNAL, UNKNOWN } = status;
  const { UNAUTHENTICATED, UNIMPLEMENTED, DEADLINE_EXCEEDED } = status;

  it.each<[what: string, code: status, answer: (stream: ServerHttp2Stream) => unknown, ms?: number]>([
    ['a stream that ends early', UNAVAILABLE, (stream) => begin(stream).end()],
    ['a connection that breaks', UNAVAILABLE, (stream) => begin(stream).session?.destroy()],
    ['a deadline', DEADLINE_EXCEEDED, (stream) => begin(stream), 200],
    [
      'a message that is too large',
      INTERNAL,
      (stream) => begin(stream).end(Buffer.from([0, 0xff, 0, 0, 0, 0])),
    ],
    [
      'a message that cannot be decompressed',
      INTERNAL,
      (stream) => begin(stream, { 'grpc-encoding': 'gzip' }).end(Buffer.from([1, 0, 0, 0, 1, 0])),
    ],
    ['an HTML page', UNAUTHENTICATED, (stream) => begin(stream, { ':status': 401 }).end('<html>')],
    ['an HTTP error without a body', UNAVAILABLE, endWith({ x: 'y' }, { ':status': 502 })],
    [
      'no status',
      UNKNOWN,
      (stream) => {
        stream.respond({ ':status': 299 }, { endStream: true });
      },
    ],
    ['no message', UNIMPLEMENTED, endWith({ 'grpc-status': '0' })],
    [
      "a text that is one of grpc-js's own",
      UNAVAILABLE,
      endWith({ 'grpc-status': '13', 'grpc-message': 'Connection dropped' }),
    ],
  ])(
    'that grpc-js itself reports after headers counts as unanswered: %s',
    async (_, code, answer, ms = 60_000) => {
      const server = await startHttp2Server(answer);
      const upstream = opening(upstreamAt(server.address));
      const reply = await upstream.unary(unaryCall({ deadline: Date.now() + ms }));
      expect(reply).toMatchObject({ code, answered: false });
    },
  );

  const PAGE = '<html>Sign in</html>';
  it.each<[what: string, code: status, text: string, answer: (stream: ServerHttp2Stream) => unknown]>([
    [
      'a proxy that refuses',
      UNAUTHENTICATED,
      'HTTP status 401, content type "text/html"',
      (stream) => begin(stream, { ':status': 401, 'content-type': 'text/html' }).end(PAGE),
    ],
    [
      'a proxy that refuses without a page',
      UNAVAILABLE,
      'HTTP status 502',
      (stream) => {
        stream.respond({ ':status': 502 }, { endStream: true });
      },
    ],
    [
      'a web server',
      INTERNAL,
      'content type "text/html"',
      (stream) => begin(stream, { 'content-type': 'text/html' }).end(PAGE),
    ],
    [
      'a server of gRPC-Web',
      UNAVAILABLE,
      'content type "application/grpc-web"',
      (stream) => begin(stream, { 'content-type': 'application/grpc-web' }).end(Buffer.alloc(5)),
    ],
  ])('tells the log what answered in place of a gRPC server: %s', async (_, code, text, answer) => {
    const server = await startHttp2Server(answer);
    const reply = await opening(upstreamAt(server.address)).unary(unaryCall());
    expect(reply).toEqual({ code, details: `The response is not gRPC: ${text}.`, answered: false });
  });

  it.each([
    ['unknown', { 'grpc-encoding': 'snappy' }],
    ['undeclared', {}],
  ])('is INTERNAL with a sentence if the compression of a reply is %s', async (_, headers) => {
    const server = await startHttp2Server((stream) => {
      begin(stream, headers).end(Buffer.from([1, 0, 0, 0, 1, 0]));
    });
    const upstream = opening(upstreamAt(server.address));
    const text = 'The reply is compressed in a way that is not supported, or not declared.';
    const failure = { code: INTERNAL, details: text, answered: false, clientMessage: text };
    expect(await upstream.unary(unaryCall())).toEqual(failure);
    expect(await upstream.serverStream(unaryCall()).next()).toEqual(failure);
  });

  it.each([
    ['NO_ERROR', constants.NGHTTP2_NO_ERROR],
    ['PROTOCOL_ERROR', constants.NGHTTP2_PROTOCOL_ERROR],
    ['INTERNAL_ERROR', constants.NGHTTP2_INTERNAL_ERROR],
    ['REFUSED_STREAM', constants.NGHTTP2_REFUSED_STREAM],
    ['CANCEL', constants.NGHTTP2_CANCEL],
    ['ENHANCE_YOUR_CALM', constants.NGHTTP2_ENHANCE_YOUR_CALM],
    ['INADEQUATE_SECURITY', constants.NGHTTP2_INADEQUATE_SECURITY],
  ])(
    'is an unanswered UNAVAILABLE if the server resets the stream with %s after headers',
    async (_, reset) => {
      const server = opening(
        await serveSockets((socket) => {
          resetAfterHeaders(socket, reset);
        }),
      );
      const reply = await opening(upstreamAt(server.address)).unary(unaryCall());
      expect(reply).toMatchObject({ code: UNAVAILABLE, answered: false });
    },
  );

  it('is DEADLINE_EXCEEDED, without a warning of Node, if the deadline passes while the call is made', async () => {
    const upstream = await upstreamTo(refuse);
    const warnings: Error[] = [];
    const warned = (warning: Error): void => void warnings.push(warning);
    process.on('warning', warned);
    let now = Date.now();
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => now++);
    onTestFinished(() => {
      process.off('warning', warned);
      clock.mockRestore();
    });
    const reply = await upstream.unary(unaryCall({ deadline: now + 0.5 }));
    expect(reply).toMatchObject({ code: DEADLINE_EXCEEDED, answered: false });
    expect(warnings).toEqual([]);
  });

  it('is DEADLINE_EXCEEDED if the server saw the deadline pass first and reset the call', async () => {
    const deadline = Date.now() + 10_000;
    const server = opening(
      await serveSockets((socket) => {
        vi.setSystemTime(deadline);
        resetAfterHeaders(socket, constants.NGHTTP2_CANCEL);
      }),
    );
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    const reply = await opening(upstreamAt(server.address)).unary(unaryCall({ deadline }));
    expect(reply).toMatchObject({ code: DEADLINE_EXCEEDED, answered: false });
  });
});

describe('several servers behind one target', () => {
  it('share the calls evenly', async () => {
    const counts = [0, 0];
    const servers = await Promise.all(
      counts.map((_, index) =>
        listen({ unary: (call) => ((counts[index] = (counts[index] ?? 0) + 1), echo(call)) }, [PATH]),
      ),
    );
    for (const server of servers) opening(server);
    const upstream = opening(upstreamAt(`ipv4:${servers.map(({ address }) => address).join(',')}`));
    // Calls that wait for a further connection go to the server that accepts it first.
    await expect
      .poll(async () => {
        counts.fill(0);
        await Promise.all(Array.from({ length: 200 }, async () => upstream.unary(unaryCall())));
        return counts;
      })
      .toEqual([100, 100]);
  });
});

describe('new credentials', () => {
  const { ca, server: own } = certificates;
  const identity = ServerCredentials.createSsl(null, [{ private_key: own.key, cert_chain: own.cert }]);
  const byName = (address: string): string => address.replace('127.0.0.1', 'localhost');

  it('apply to later calls, while calls in progress run to their end', async () => {
    const begun = new Deferred();
    const answer = new Deferred<GrpcReply>();
    const unary: Answer = () => {
      begun.resolve();
      return answer.promise;
    };
    const server = opening(await listen({ unary }, [PATH], '127.0.0.1:0', identity));
    const upstream = opening(
      grpcUpstream(byName(server.address), { credentials: credentials.createSsl(ca.cert) }),
    );
    const inProgress = upstream.unary(unaryCall());
    await begun.promise;
    // Trusts Node's CAs, none of which signed the server's certificate.
    upstream.renew(credentials.createSsl());
    await expect
      .poll(async () => upstream.unary(unaryCall({ deadline: Date.now() + 1_000 })))
      .toMatchObject({ code: status.UNAVAILABLE, answered: false });
    answer.resolve({ ...OK, message: new Uint8Array() });
    expect((await inProgress).code).toBe(status.OK);
    upstream.renew(credentials.createSsl(ca.cert));
    await expect.poll(async () => (await upstream.unary(unaryCall())).code).toBe(status.OK);
  });

  it('fail no call, however often they are renewed', async () => {
    const server = opening(await listen({ unary: echo }, [PATH], '127.0.0.1:0', identity));
    const open = (): ChannelCredentials => credentials.createSsl(ca.cert);
    const upstream = opening(grpcUpstream(byName(server.address), { credentials: open() }));
    const replies: Promise<UnaryReply>[] = [];
    const ask = async (): Promise<UnaryReply> => upstream.unary(unaryCall());
    for (let round = 0; round < 50; round++) {
      upstream.renew(open());
      replies.push(ask(), ask());
      await setImmediate();
    }
    const codes = (await Promise.all(replies)).map(({ code }) => code);
    expect(codes).toEqual(codes.map(() => status.OK));
  });

  it('that are still connecting are closed with the upstream', async () => {
    const server = opening(await serveSockets(() => undefined));
    const upstream = upstreamAt(server.address);
    upstream.renew(credentials.createInsecure());
    upstream.close();
    expect((await upstream.unary(unaryCall())).code).toBe(status.UNAVAILABLE);
  });

  it('open no channel once the upstream is closed', async () => {
    const upstream = await upstreamTo(echo);
    upstream.close();
    upstream.renew(credentials.createInsecure());
    expect((await upstream.unary(unaryCall())).code).toBe(status.UNAVAILABLE);
  });
});
