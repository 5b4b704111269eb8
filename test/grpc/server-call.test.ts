import { connect, constants, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import { status } from '@grpc/grpc-js';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Authenticator } from '../../src/auth/authenticator.js';
import { Admission } from '../../src/calls/admission.js';
import { Health } from '../../src/grpc/health.js';
import { createInterceptors } from '../../src/calls/interceptors.js';
import type { Method } from '../../src/calls/method.js';
import { createPipeline } from '../../src/calls/pipeline.js';
import { startGrpcServer } from '../../src/grpc/server.js';
import { type BytesMethod, bytesMethod } from '../support/bytes-method.js';
import { LIMITS as GRPC_LIMITS } from '../support/grpc-limits.js';
import { interceptorOptions, LIMITS } from '../support/interceptor-options.js';
import { framed, outcomeOf, requestOn } from '../support/http2-call.js';

const ECHO = '/test.Service/Echo';
const GUARDED = '/test.Service/Guarded';
const SLOW = '/test.Service/Slow';
const UNKNOWN = '/test.Service/Unknown';
const MESSAGE = framed(Buffer.from('m'));

/** The options that a test may change. */
interface Options {
  readonly authenticator?: Authenticator;
  readonly admission?: Admission;
  /** Handles the method `GUARDED`. */
  readonly handle?: BytesMethod['handle'];
  readonly now?: () => number;
  readonly deadlineMs?: number;
}

interface Server {
  readonly address: string;
  /** The logged calls: their paths and codes. */
  readonly log: string[];
  close(): Promise<void>;
}

async function start({
  authenticator = REFUSING,
  admission = new Admission(LIMITS),
  handle = echo,
  now = () => performance.now(),
  deadlineMs = 60_000,
}: Options = {}): Promise<Server> {
  const log: string[] = [];
  const logger = pino(
    { level: 'debug' },
    {
      write: (line) => {
        const { path, code } = JSON.parse(line) as { path: string; code: string };
        log.push(`${path} ${code}`);
      },
    },
  );
  const methods: Method[] = [
    bytesMethod(ECHO, 'public', echo),
    bytesMethod(GUARDED, { scope: 's' }, handle),
    bytesMethod(SLOW, 'public', () => new Promise(() => undefined)),
  ];
  const interceptors = createInterceptors(
    interceptorOptions({ authenticator, admission, now, deadlineMs }, logger),
  );
  const server = await startGrpcServer({
    address: '127.0.0.1:0',
    methods,
    pipeline: createPipeline(methods, interceptors),
    health: new Health([]),
    reflection: false,
    limits: { ...GRPC_LIMITS, deadlineMs },
    times: { unreadMs: 50 },
  });
  onTestFinished(() => server.close(1_000));
  return { address: server.address, log, close: () => server.close(5_000) };
}

const echo: BytesMethod['handle'] = (message) => message;
const REFUSING: Authenticator = {
  authenticate: () => ({ ok: false, reason: 'TOKEN_MISSING', message: '' }),
};

function connectTo({ address }: Server): ClientHttp2Session {
  const session = connect(`http://${address}`);
  onTestFinished(() => {
    session.destroy();
  });
  return session;
}

/** Resolves when the server has read everything sent earlier on the connection. */
async function roundTrip(session: ClientHttp2Session): Promise<void> {
  const { code } = await outcomeOf(requestOn(session, ECHO).end(MESSAGE));
  expect(code).toBe(status.OK);
}

describe('a call that is refused', () => {
  it.each([
    ['for its timeout', { 'grpc-timeout': 'soon' }, [MESSAGE], status.INVALID_ARGUMENT],
    [
      'for a second message, which is too large',
      {},
      [MESSAGE, Buffer.from([0, 0xff, 0xff, 0xff, 0xff]), Buffer.from('a piece of it')],
      status.RESOURCE_EXHAUSTED,
    ],
  ])('%s does not run and asks the guard once, however long that takes', async (_, headers, pieces, code) => {
    let admit: () => void = () => undefined;
    const admitted = new Promise<void>((resolve) => (admit = resolve));
    const ran: Uint8Array[] = [];
    let asked = 0;
    const server = await start({
      authenticator: {
        authenticate: async () => {
          asked++;
          await admitted;
          return { ok: true, caller: { subject: 'me', scopes: new Set(['s']) }, rememberUntilMs: 0 };
        },
      },
      handle: (message) => {
        ran.push(message);
        return message;
      },
    });
    const session = connectTo(server);
    const stream = requestOn(session, GUARDED, headers);
    const outcome = outcomeOf(stream);
    for (const piece of pieces) {
      await new Promise((sent) => stream.write(piece, sent));
      await roundTrip(session);
    }
    await new Promise<void>((sent) => stream.end(sent));
    await roundTrip(session);
    admit();
    expect((await outcome).code).toBe(code);
    expect(ran).toEqual([]);
    expect(asked).toBe(1);
  });
});

const admitted: Authenticator = {
  authenticate: () => ({
    ok: true,
    caller: { subject: 'me', scopes: new Set(['s']) },
    rememberUntilMs: Number.MAX_SAFE_INTEGER,
  }),
};

/** Counts the places that were taken. */
class CountingAdmission extends Admission {
  entered = 0;

  override enter(call: Parameters<Admission['enter']>[0]): void {
    super.enter(call);
    this.entered++;
  }
}

describe('a call whose message is late', () => {
  const half = MESSAGE.subarray(0, 5);

  it('is refused before the message is here, when it has no token', async () => {
    const stream = requestOn(connectTo(await start()), GUARDED);
    stream.write(half);
    expect((await outcomeOf(stream)).code).toBe(status.UNAUTHENTICATED);
  });

  it('runs when the message is here, once', async () => {
    let ran = 0;
    const handle: BytesMethod['handle'] = (message) => {
      ran++;
      return message;
    };
    const server = await start({ authenticator: admitted, handle });
    const session = connectTo(server);
    const stream = requestOn(session, GUARDED);
    stream.write(half);
    const outcome = outcomeOf(stream);
    await roundTrip(session);
    expect(ran).toBe(0);
    stream.end(MESSAGE.subarray(5));
    expect((await outcome).code).toBe(status.OK);
    expect(ran).toBe(1);
  });

  it('ends with its deadline, and is logged as that', async () => {
    const server = await start({ authenticator: admitted });
    const stream = requestOn(connectTo(server), GUARDED, { 'grpc-timeout': '50m' });
    stream.write(half);
    expect((await outcomeOf(stream)).code).toBe(status.DEADLINE_EXCEEDED);
    expect(server.log).toEqual([`${GUARDED} DEADLINE_EXCEEDED`]);
  });

  it.each<[string, number, Record<string, string>, (stream: ClientHttp2Stream) => unknown]>([
    ['by its own deadline', 60_000, { 'grpc-timeout': '200m' }, () => undefined],
    ['by the deadline of the server', 200, {}, () => undefined],
    ['because its client goes', 60_000, {}, (stream) => stream.destroy()],
    ['without its message', 60_000, {}, (stream) => stream.end()],
  ])('leaves its place to others when it ends %s', async (_, deadlineMs, headers, end) => {
    const admission = new CountingAdmission({ ...LIMITS, maxCalls: 1 });
    const session = connectTo(await start({ authenticator: admitted, admission, deadlineMs }));
    const next = async (): Promise<string | undefined> => {
      const { code } = await outcomeOf(requestOn(session, GUARDED).end(MESSAGE));
      return status[code];
    };
    const stream = requestOn(session, GUARDED, headers);
    stream.on('error', () => undefined);
    stream.write(half);
    await expect.poll(() => admission.entered).toBe(1);
    end(stream);
    await expect.poll(next).toBe('OK');
  });

  it('ends at once when the server closes, and says when to try again', async () => {
    const server = await start({ authenticator: admitted });
    const session = connectTo(server);
    const stream = requestOn(session, GUARDED);
    stream.write(half);
    const outcome = outcomeOf(stream);
    await roundTrip(session);
    const closed = server.close();
    const { code, trailers } = await outcome;
    expect(code).toBe(status.UNAVAILABLE);
    expect(trailers.get('grpc-retry-pushback-ms')).toEqual(['1000']);
    stream.close();
    await closed;
  });
});

describe('a call whose client goes', () => {
  it('ends as that, whatever its method waits for', async () => {
    const server = await start();
    const session = connectTo(server);
    const stream = requestOn(session, SLOW).end(MESSAGE);
    await roundTrip(session);
    stream.close(constants.NGHTTP2_CANCEL);
    await expect.poll(() => server.log).toEqual([`${ECHO} OK`, `${SLOW} CANCELLED`]);
  });
});

describe('a call that was answered', () => {
  it('leaves no timer behind, although its message came late', async () => {
    const timers = (): number =>
      process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
    const server = await start();
    const session = connectTo(server);
    await roundTrip(session);
    const before = timers();
    const streams = Array.from({ length: 20 }, () => requestOn(session, ECHO));
    const outcomes = streams.map(outcomeOf);
    // Connections have timers of their own, one or two.
    await expect.poll(timers).toBeGreaterThan(before + 15);
    for (const stream of streams) stream.end(MESSAGE);
    expect((await Promise.all(outcomes)).map(({ code }) => code)).toEqual(Array(20).fill(status.OK));
    await expect.poll(timers).toBeLessThan(before + 5);
  });

  it('is not refused as well', async () => {
    const server = await start();
    const session = connectTo(server);
    const { code } = await outcomeOf(requestOn(session, UNKNOWN, { 'grpc-timeout': 'soon' }).end());
    await roundTrip(session);
    expect(code).toBe(status.UNIMPLEMENTED);
    expect(server.log).toEqual([`${UNKNOWN} UNIMPLEMENTED`, `${ECHO} OK`]);
  });

  it('by its deadline is logged as that', async () => {
    // With a clock that runs late, grpc-js sees the deadline first.
    const server = await start({ now: () => performance.now() - 100 });
    const stream = requestOn(connectTo(server), SLOW, { 'grpc-timeout': '10m' }).end(MESSAGE);
    expect((await outcomeOf(stream)).code).toBe(status.DEADLINE_EXCEEDED);
    await expect.poll(() => server.log).toEqual([`${SLOW} DEADLINE_EXCEEDED`]);
  });
});
