import { once } from 'node:events';
import { constants, type ServerHttp2Stream } from 'node:http2';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { credentials, ServerCredentials, status } from '@grpc/grpc-js';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type GrpcUpstream, grpcUpstream } from '../../src/grpc-js.js';
import type { UnaryCall, UnaryReply } from '../../src/upstream.js';
import { certificates } from '../../../client/test/support/certificates.js';
import { Caller } from '../support/caller.js';
import { Deferred } from '../support/deferred.js';
import { type GrpcReply, listen } from '../support/grpc-server.js';
import { answerOk, startHttp2Server } from '../support/http2-server.js';
import { opening } from '../support/opening.js';
import { serveSockets } from '../support/socket-server.js';
import { PATH, unaryCall } from '../support/unary-call.js';
import { OK, upstreamAt, upstreamTo } from '../support/upstream.js';

const SLOW = '/library.v1.Probe/Slow';
/** More streams than Node's HTTP/2 server lets a client reset at once. */
const MANY = 1_200;
/** Few enough calls for one connection. */
const WAVE = 60;

const answer: GrpcReply = { ...OK, message: Buffer.from('abc') };
/** Answers, or does as the given function for the slow method. */
const orSlow =
  (slow: (call: UnaryCall) => Promise<GrpcReply>) =>
  (call: UnaryCall): GrpcReply | Promise<GrpcReply> =>
    call.path === SLOW ? slow(call) : answer;
const METHODS = [PATH, SLOW];
const echo = ({ message }: UnaryCall): GrpcReply => ({ ...OK, message });

/** Makes one call after the other until one fails or it is told to stop. Returns the replies. */
function innocent(upstream: GrpcUpstream): () => Promise<readonly UnaryReply[]> {
  const stop = new AbortController();
  const replies = (async () => {
    const all: UnaryReply[] = [];
    do all.push(await upstream.unary(unaryCall()));
    while (!stop.signal.aborted && all.at(-1)?.code === status.OK);
    return all;
  })();
  return () => {
    stop.abort();
    return replies;
  };
}

function codesOf(replies: readonly UnaryReply[]): ReadonlySet<number> {
  return new Set(replies.map(({ code }) => code));
}

const never = (): Promise<never> => new Promise(() => undefined);

/** The calls of the slow method, at the server. */
interface SlowCalls {
  begun: number;
  reset: number;
}

/** An upstream whose server answers the slow method only when told to, and counts its calls. */
async function upstreamToSlow(): Promise<{ upstream: GrpcUpstream; slow: SlowCalls; answerAll: () => void }> {
  const slow = { begun: 0, reset: 0 };
  const told = new Deferred<GrpcReply>();
  const upstream = await upstreamTo(
    orSlow(({ cancellation }) => {
      slow.begun += 1;
      cancellation.onCancelled(() => {
        slow.reset += Number(cancellation.cancelled);
      });
      return told.promise;
    }),
    METHODS,
  );
  const answerAll = (): void => {
    told.resolve(answer);
  };
  return { upstream, slow, answerAll };
}

describe('the calls of others', () => {
  it('succeed while the deadlines of very many calls pass', async () => {
    const upstream = await upstreamTo(orSlow(never), METHODS);
    const stop = innocent(upstream);
    const late: UnaryReply[] = [];
    for (let made = 0; made < MANY; made += WAVE) {
      const deadline = Date.now() + 10;
      const wave = Array.from({ length: WAVE }, async () =>
        upstream.unary(unaryCall({ path: SLOW, deadline })),
      );
      late.push(...(await Promise.all(wave)));
    }
    expect(codesOf(late)).toEqual(new Set([status.DEADLINE_EXCEEDED]));
    expect(codesOf(await stop())).toEqual(new Set([status.OK]));
  });

  it('succeed while very many clients leave, of whom the server is told as many as it allows', async () => {
    const { upstream, slow, answerAll } = await upstreamToSlow();
    const stop = innocent(upstream);
    const left: UnaryReply[] = [];
    for (let made = 0; made < MANY; made += WAVE) {
      const callers = Array.from({ length: WAVE }, () => new Caller());
      const wave = callers.map(async (cancellation) =>
        upstream.unary(unaryCall({ path: SLOW, cancellation, deadline: Infinity })),
      );
      await expect.poll(() => slow.begun, { interval: 1 }).toBe(made + WAVE);
      for (const caller of callers) caller.go();
      left.push(...(await Promise.all(wave)));
    }
    expect(codesOf(left)).toEqual(new Set([status.CANCELLED]));
    expect(codesOf(await stop())).toEqual(new Set([status.OK]));
    await expect.poll(() => slow.reset).toBeGreaterThanOrEqual(100);
    expect(slow.reset).toBeLessThan(MANY);
    answerAll();
    await expect.poll(() => upstream.leftRunning).toBeGreaterThan(0);
  });

  it('are cancelled at once although very many clients have left after their replies', async () => {
    const { upstream, slow } = await upstreamToSlow();
    for (let made = 0; made < 600; made++) {
      const cancellation = new Caller();
      expect(await upstream.unary(unaryCall({ cancellation }))).toMatchObject({ code: status.OK });
      cancellation.go();
    }
    const caller = new Caller();
    const call = unaryCall({ path: SLOW, cancellation: caller, deadline: Infinity });
    const left = upstream.unary(call);
    await expect.poll(() => slow.begun).toBe(1);
    caller.go();
    expect((await left).code).toBe(status.CANCELLED);
    await expect.poll(() => slow.reset).toBe(1);
  });

  it('are answered while very many calls of a slow method wait, and no connection has more streams than allowed', async () => {
    const answers: Readonly<Record<string, typeof answerOk>> = { [PATH]: answerOk };
    const server = await startHttp2Server(
      (stream, { ':path': path }) => {
        answers[path ?? '']?.(stream);
      },
      { maxConcurrentStreams: 100 },
    );
    const upstream = upstreamAt(server.address);
    const waiting = Array.from({ length: MANY }, async () => upstream.unary(unaryCall({ path: SLOW })));
    for (let made = 0; made < 20; made++) expect((await upstream.unary(unaryCall())).code).toBe(status.OK);
    const slow = server.requests.filter(({ ':path': path }) => path === SLOW);
    expect(slow).toHaveLength(MANY);
    for (const session of server.sessions) session.destroy();
    expect(codesOf(await Promise.all(waiting))).toEqual(new Set([status.UNAVAILABLE]));
  });

  it('are answered while a method has 2,048 calls in progress, further ones of which are refused at once', async () => {
    const upstream = await upstreamTo(orSlow(never), METHODS);
    const stuck = new Caller();
    const waiting = Array.from({ length: 2_048 }, async () =>
      upstream.unary(unaryCall({ path: SLOW, cancellation: stuck })),
    );
    expect(await upstream.unary(unaryCall({ path: SLOW }))).toMatchObject({
      code: status.RESOURCE_EXHAUSTED,
      answered: false,
    });
    expect((await upstream.unary(unaryCall())).code).toBe(status.OK);
    stuck.go();
    await Promise.all(waiting);
    await expect
      .poll(async () => (await upstream.unary(unaryCall({ path: SLOW, deadline: Date.now() + 50 }))).code)
      .toBe(status.DEADLINE_EXCEEDED);
  });

  it('are answered while a caller has as many calls in progress as it may, further ones of which are refused at once', async () => {
    const upstream = await upstreamTo(orSlow(never), METHODS, { maxCallsOfCaller: 100 });
    const of = (token: string): Partial<UnaryCall> => ({ metadata: new Map([['authorization', token]]) });
    const stuck = new Caller();
    const waiting = Array.from({ length: 100 }, async () =>
      upstream.unary(unaryCall({ path: SLOW, cancellation: stuck, ...of('Bearer a') })),
    );
    expect(await upstream.unary(unaryCall(of('Bearer a')))).toMatchObject({
      code: status.RESOURCE_EXHAUSTED,
      answered: false,
    });
    for (const call of [of('Bearer b'), {}])
      expect((await upstream.unary(unaryCall(call))).code).toBe(status.OK);
    stuck.go();
    await Promise.all(waiting);
    await expect.poll(async () => (await upstream.unary(unaryCall(of('Bearer a')))).code).toBe(status.OK);
  });
});

describe('a call to a server that ignores deadlines', () => {
  it('ends at its deadline, and its stream is reset a little later', async () => {
    const reset = new Deferred<number>();
    const server = await startHttp2Server((stream) => {
      stream.on('close', () => {
        reset.resolve(stream.rstCode);
      });
    });
    const upstream = upstreamAt(server.address);
    // The deadline may pass before the call reaches the server.
    await expect
      .poll(async () => {
        const reply = await upstream.unary(unaryCall({ deadline: Date.now() + 100 }));
        expect(reply).toMatchObject({ code: status.DEADLINE_EXCEEDED, answered: false });
        return server.requests.length;
      })
      .toBeGreaterThan(0);
    expect(await reset.promise).toBe(constants.NGHTTP2_CANCEL);
    await expect.poll(() => upstream.leftRunning).toBe(0);
  });

  it.each([
    { ms: 10_000, timeout: '10000m' },
    { ms: 200_000_000, timeout: '200000S' },
    { ms: 1e15, timeout: '99999999S' },
    { ms: Infinity, timeout: undefined },
  ])('says that it has $ms ms, in at most eight digits: $timeout', async ({ ms, timeout }) => {
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const server = await startHttp2Server(answerOk);
    const { code } = await upstreamAt(server.address).unary(unaryCall({ deadline: Date.now() + ms }));
    expect([code, server.requests[0]?.['grpc-timeout']]).toEqual([status.OK, timeout]);
  });
});

describe('a stream that is refused', () => {
  const refuse = (stream: ServerHttp2Stream): void => {
    stream.close(constants.NGHTTP2_REFUSED_STREAM);
  };

  it('is sent again', async () => {
    const answers = [refuse, answerOk];
    const server = await startHttp2Server((stream) => answers.shift()?.(stream));
    expect((await upstreamAt(server.address).unary(unaryCall())).code).toBe(status.OK);
    expect(server.requests).toHaveLength(2);
  });

  it('is sent again only once', async () => {
    const server = await startHttp2Server(refuse);
    const reply = await upstreamAt(server.address).unary(unaryCall());
    expect(reply).toMatchObject({ code: status.UNAVAILABLE, answered: false });
    expect(server.requests).toHaveLength(2);
  });

  it.each([
    [
      'another reset',
      (stream: ServerHttp2Stream) => {
        stream.close(constants.NGHTTP2_CANCEL);
      },
    ],
    [
      'UNAVAILABLE',
      (stream: ServerHttp2Stream) => {
        const head = { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '14' };
        stream.respond(head, { endStream: true });
      },
    ],
  ])('is the only failure after which a call is sent again: not after %s', async (_, end) => {
    const server = await startHttp2Server(end);
    expect((await upstreamAt(server.address).unary(unaryCall())).code).toBe(status.UNAVAILABLE);
    expect(server.requests).toHaveLength(1);
  });
});

describe('a connection that the server ends', () => {
  const { NGHTTP2_NO_ERROR, NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_INTERNAL_ERROR } = constants;

  it.each([
    ['NO_ERROR', NGHTTP2_NO_ERROR, ''],
    ['ENHANCE_YOUR_CALM and too_many_pings', NGHTTP2_ENHANCE_YOUR_CALM, 'too_many_pings'],
    ['ENHANCE_YOUR_CALM', NGHTTP2_ENHANCE_YOUR_CALM, ''],
    ['INTERNAL_ERROR', NGHTTP2_INTERNAL_ERROR, ''],
  ])('with GOAWAY and %s makes its calls UNAVAILABLE', async (_, code, data) => {
    const server = await startHttp2Server((stream) => {
      const { session } = stream;
      session?.goaway(code, 1, Buffer.from(data));
      setImmediate(() => session?.destroy());
    });
    const reply = await upstreamAt(server.address, { 'grpc.keepalive_time_ms': -1 }).unary(unaryCall());
    expect(reply).toMatchObject({ code: status.UNAVAILABLE, answered: false });
  });

  it('while it is idle costs no call', async () => {
    const server = await startHttp2Server(answerOk);
    const upstream = upstreamAt(server.address);
    await upstream.unary(unaryCall());
    for (const session of server.sessions) session.close();
    await expect.poll(() => server.sessions.length).toBe(2);
    expect((await upstream.unary(unaryCall())).code).toBe(status.OK);
  });
});

describe('the connection of an upstream', () => {
  it('is made directly even if the environment names a proxy', async () => {
    const proxy = opening(await serveSockets((socket) => socket.destroy()));
    process.env['http_proxy'] = `http://${proxy.address}`;
    opening({ close: () => delete process.env['http_proxy'] });
    const upstream = await upstreamTo(echo, [PATH]);
    expect((await upstream.unary(unaryCall())).code).toBe(status.OK);
    expect(proxy.connections()).toBe(0);
  });

  it('is retried soon, but not at once', async () => {
    const server = opening(await serveSockets((socket) => socket.destroy()));
    const upstream = upstreamAt(server.address);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const codes = await Promise.all([1, 2, 3].map(async () => upstream.unary(unaryCall())));
    expect(codes.map(({ code }) => code)).toEqual(Array(3).fill(status.UNAVAILABLE));
    for (let made = 0; made < 50; made++)
      expect((await upstream.unary(unaryCall())).code).toBe(status.UNAVAILABLE);
    expect(server.connections()).toBe(1);
    // The first wait is 100 ms, or up to a fifth more.
    vi.advanceTimersByTime(120);
    while (server.connections() === 1) await nextTurn();
  });

  it('keeps each call waiting until its deadline or its cancellation if the server never responds', async () => {
    const server = opening(await serveSockets(() => undefined));
    const upstream = upstreamAt(server.address);
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

describe('several servers behind one target', () => {
  it('share the calls evenly', async () => {
    const counts = [0, 0];
    const servers = await Promise.all(
      counts.map((_, index) =>
        listen({ unary: (call) => ((counts[index] = (counts[index] ?? 0) + 1), echo(call)) }, [PATH]),
      ),
    );
    for (const server of servers) opening(server);
    const upstream = upstreamAt(`ipv4:${servers.map(({ address }) => address).join(',')}`);
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
    const reply = new Deferred<GrpcReply>();
    const unary = (): Promise<GrpcReply> => {
      begun.resolve();
      return reply.promise;
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
    reply.resolve({ ...OK, message: new Uint8Array() });
    expect((await inProgress).code).toBe(status.OK);
    upstream.renew(credentials.createSsl(ca.cert));
    await expect.poll(async () => (await upstream.unary(unaryCall())).code).toBe(status.OK);
    expect(() => {
      upstream.renew({} as never);
    }).toThrow('must be a ChannelCredentials object');
    expect((await upstream.unary(unaryCall())).code).toBe(status.OK);
  });
});
