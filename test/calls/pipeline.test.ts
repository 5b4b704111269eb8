import { EventEmitter, once } from 'node:events';
import { Metadata, status } from '@grpc/grpc-js';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Authenticator } from '../../src/auth/authenticator.js';
import { CallLog } from '../../src/calls/call-log.js';
import type { Call, CallReason, Interceptor, Reply } from '../../src/calls/call.js';
import { overloadFailure } from '../../src/calls/failures.js';
import { createPipeline, createSteps, type Pipeline } from '../../src/calls/pipeline.js';
import { Failure } from '../../src/registry/failure.js';
import type { Limits } from '../../src/settings/config.js';
import { type BytesMethod, bytesMethod } from '../support/bytes-method.js';
import { Caller } from '../../packages/transcoder/test/support/caller.js';
import { loggedPipeline, LIMITS } from '../support/logged-pipeline.js';
import { errorInfoOf, richErrorOfReply } from '../support/rich-error.js';
import { watchTimers } from '../support/watched-timers.js';

const PATH = '/test.Service/Method';
const ANSWER = new Uint8Array([1, 2, 3]);

/** Takes the last word of the authorization as the subject. */
const authenticator: Authenticator = {
  authenticate: (value) =>
    value === ''
      ? { ok: false, reason: 'TOKEN_MISSING', message: 'No bearer token was given.' }
      : {
          ok: true,
          caller: { subject: value.replace(/^.* /, ''), scopes: new Set(['s']) },
          rememberUntilMs: 0,
        },
};

interface PipelineSetup {
  /** Collects the parsed lines of the log. */
  readonly lines?: unknown[];
  /** Default: a minute. */
  readonly deadlineMs?: number;
  /** Outside the log. */
  readonly observers?: readonly Interceptor[];
}

/** A pipeline with one method at `PATH`, which answers `ANSWER` unless the given members say otherwise. */
function pipelineTo(method: Partial<BytesMethod>, setup: PipelineSetup = {}): Pipeline {
  const { lines = [], deadlineMs = 60_000, observers } = setup;
  const logger = pino({ level: 'debug' }, { write: (line) => lines.push(JSON.parse(line)) });
  const whole = { ...bytesMethod(PATH, { scope: 's' }, () => Promise.resolve(ANSWER)), ...method };
  return loggedPipeline([whole], { authenticator, deadlineMs }, logger, observers);
}

/** The same, which also returns a promise where the reply is synchronous. */
function pipelineOf(...setup: Parameters<typeof pipelineTo>): (call: Call) => Promise<Reply> {
  const pipeline = pipelineTo(...setup);
  return async (call) => pipeline(call);
}

function callOf(change: Partial<Call> & { readonly keys?: Readonly<Record<string, string>> } = {}): Call {
  const metadata = new Metadata();
  for (const [key, value] of Object.entries({ authorization: 'me', ...change.keys }))
    metadata.set(key, value);
  const cancellation = new Caller();
  return { path: PATH, message: new Uint8Array(), metadata, deadline: Infinity, cancellation, ...change };
}

/** The size of a reply's trailers in bytes: names and values as gRPC encodes them. */
function trailerBytes({ code, details, trailers }: Reply): number {
  const fields: [string, string][] = Object.entries(trailers.getMap()).map(([name, value]) => [
    name,
    Buffer.isBuffer(value) ? value.toString('base64') : value,
  ]);
  fields.push(['grpc-status', String(code)], ['grpc-message', encodeURI(details)]);
  return fields.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
}

/** Freezes time until the test advances it. */
function stopClock(): void {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
}

describe('a call', () => {
  it.each(['my-name', '!'.repeat(128)])(
    'gets the response of its method, with its request id in the trailers: %s',
    async (id) => {
      const reply = await pipelineOf({})(callOf({ keys: { 'x-request-id': id } }));
      expect(reply).toMatchObject({ code: status.OK, details: '', message: ANSWER });
      expect(reply.trailers.get('x-request-id')).toEqual([id]);
    },
  );

  it('is answered synchronously from the cache', () => {
    const cachedResponse = (): Uint8Array => ANSWER;
    expect(pipelineTo({ cachedResponse })(callOf())).toMatchObject({ code: status.OK, message: ANSWER });
  });

  it('fails synchronously if nothing has to be awaited', () => {
    const decode = (): never => {
      throw new Failure<CallReason>('REQUEST_MALFORMED', 'No.');
    };
    expect(pipelineTo({ decode })(callOf())).toMatchObject({ code: status.INVALID_ARGUMENT, details: 'No.' });
  });

  it.each([
    ['none', {}],
    ['an empty one', { 'x-request-id': '' }],
    ['one of 129 characters', { 'x-request-id': 'n'.repeat(129) }],
    ['one with a space', { 'x-request-id': 'a b' }],
  ])('gets a new request id if it has %s', async (_, keys) => {
    const reply = await pipelineOf({})(callOf({ keys }));
    expect(reply.trailers.get('x-request-id')).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/)]);
  });

  it('passes the caller to the method', async () => {
    const pipeline = pipelineOf({
      handle: (_, { caller }) => Promise.resolve(Buffer.from(caller?.subject ?? '')),
    });
    await expect(pipeline(callOf({ keys: { authorization: 'somebody' } }))).resolves.toMatchObject({
      message: Buffer.from('somebody'),
    });
  });

  it('fails with UNIMPLEMENTED for an unknown method, even without a token', async () => {
    const reply = await pipelineOf({})(callOf({ path: '/test.Service/Other', metadata: new Metadata() }));
    expect(reply.code).toBe(status.UNIMPLEMENTED);
    expect(errorInfoOf(richErrorOfReply(reply))).toMatchObject({
      reason: 'PATH_UNKNOWN',
      domain: 'routing.v1',
    });
  });
});

describe('the guard', () => {
  it('refuses calls of a method that declares no access', async () => {
    const reply = await pipelineOf({ access: undefined })(callOf());
    expect(reply.code).toBe(status.PERMISSION_DENIED);
    expect(errorInfoOf(richErrorOfReply(reply)).reason).toBe('SCOPE_MISSING');
  });

  it('admits a call of a public method without a token', async () => {
    const reply = await pipelineOf({ access: 'public' })(callOf({ metadata: new Metadata() }));
    expect(reply.code).toBe(status.OK);
  });

  it('runs before the message is measured and decoded', async () => {
    const message = new Uint8Array(65_537);
    const unauthenticated = await pipelineOf({})(callOf({ message, metadata: new Metadata() }));
    const known = await pipelineOf({})(callOf({ message }));
    expect(unauthenticated.code).toBe(status.UNAUTHENTICATED);
    expect(known.code).toBe(status.RESOURCE_EXHAUSTED);
    expect(errorInfoOf(richErrorOfReply(known)).reason).toBe('REQUEST_TOO_LARGE');
    // Clients of gRPC do not retry it.
    expect(known.trailers.get('grpc-retry-pushback-ms')).toEqual(['-1']);
  });

  it('admits a call before it says that its message is missing, or one of several', async () => {
    const reply = await pipelineOf({})(callOf({ message: undefined }));
    expect(reply).toMatchObject({ code: status.INVALID_ARGUMENT });
  });

  it('admits a message of 64 KiB', async () => {
    const message = new Uint8Array(65_536);
    await expect(pipelineOf({})(callOf({ message }))).resolves.toMatchObject({ code: status.OK });
  });

  it.each([
    [
      'throws',
      (): never => {
        throw new Error('secret');
      },
    ],
    ['rejects', () => Promise.reject(new Error('secret'))],
  ])('fails with INTERNAL, without detail, when the authenticator %s', async (_, authenticate) => {
    const lines: unknown[] = [];
    const logger = pino({}, { write: (line) => lines.push(JSON.parse(line)) });
    const method = bytesMethod(PATH, { scope: 's' }, () => ANSWER);
    const reply = await loggedPipeline([method], { authenticator: { authenticate } }, logger)(callOf());
    expect(reply).toMatchObject({ code: status.INTERNAL, details: 'An internal error occurred.' });
    expect(lines).toContainEqual(
      expect.objectContaining({ err: expect.objectContaining({ message: 'secret' }) as unknown }),
    );
  });

  it('ends an auth-only call that it admits, without running the method, so that nobody takes it for a success', async () => {
    const pipeline = pipelineOf({ handle: () => Promise.reject(new Error('ran')) });
    const reply = await pipeline(callOf({ keys: { 'x-auth-only': '1' } }));
    expect(reply.code).toBe(status.ABORTED);
    expect(errorInfoOf(richErrorOfReply(reply)).reason).toBe('GUARD_PASSED');
    expect(reply.message).toBeUndefined();
  });
});

describe('a failure', () => {
  it('keeps its message if it is a Failure', async () => {
    const error = new Failure('ROUTE_EXISTS', 'It exists.', { metadata: { route_id: 'r' } });
    const reply = await pipelineOf({ handle: () => Promise.reject(error) })(callOf());
    expect(reply).toMatchObject({ code: status.ALREADY_EXISTS, details: 'It exists.' });
    expect(errorInfoOf(richErrorOfReply(reply)).metadata).toEqual({ route_id: 'r' });
  });

  it.each([
    ['an unexpected error', () => Promise.reject(new Error('secret: mysql://u:p@h'))],
    [
      'an error with a gRPC status, as from a driver',
      () => Promise.reject(Object.assign(new Error('secret'), { code: status.NOT_FOUND, details: 'secret' })),
    ],
    [
      'an error thrown synchronously',
      (): never => {
        throw new TypeError('secret');
      },
    ],
  ])('becomes INTERNAL and is logged once with its cause and request id: %s', async (_, handle) => {
    const lines: unknown[] = [];
    const reply = await pipelineOf({ handle }, { lines })(callOf({ keys: { 'x-request-id': 'n' } }));
    expect(reply).toMatchObject({ code: status.INTERNAL, details: 'An internal error occurred.' });
    expect(JSON.stringify(richErrorOfReply(reply))).not.toContain('secret');
    expect(lines.filter((line) => JSON.stringify(line).includes('secret'))).toEqual([
      expect.objectContaining({ requestId: 'n' }),
    ]);
  });

  it('omits violations that do not fit the trailers, and counts them', async () => {
    const violations = Array.from({ length: 200 }, (_, index) => ({
      field: `f${index}`,
      description: 'd'.repeat(100),
    }));
    const error = new Failure('ROUTE_INVALID', 'All is wrong.', { violations });
    const reply = await pipelineOf({ handle: () => Promise.reject(error) })(callOf());
    const rich = richErrorOfReply(reply);
    const kept = (rich.details as { fieldViolations?: object[] }[]).flatMap(
      ({ fieldViolations = [] }) => fieldViolations,
    );
    expect(errorInfoOf(rich).metadata).toEqual({ violations_omitted: String(200 - kept.length) });
    // Another violation would not fit: it takes 113 bytes, and a third more in Base64.
    expect(trailerBytes(reply)).toBeGreaterThan(3_584 - 300);
    expect(trailerBytes(reply)).toBeLessThanOrEqual(3_584);
  });

  it('fits the trailers even if its message is long', async () => {
    const violations = Array.from({ length: 200 }, (_, index) => ({ field: `f${index}`, description: 'd' }));
    const error = new Failure('ROUTE_INVALID', 'ü'.repeat(250), { violations });
    const reply = await pipelineOf({ handle: () => Promise.reject(error) })(callOf());
    expect(trailerBytes(reply)).toBeLessThanOrEqual(3_584);
    expect(errorInfoOf(richErrorOfReply(reply)).metadata).toHaveProperty('violations_omitted');
  });
});

describe('a call ends', () => {
  const slow: Partial<BytesMethod> = { handle: () => new Promise(() => undefined) };

  it("at the server's limit", async () => {
    const reply = await pipelineOf(slow, { deadlineMs: 1 })(callOf());
    expect(reply).toMatchObject({
      code: status.DEADLINE_EXCEEDED,
      details: 'The deadline passed before the call was answered.',
    });
  });

  it("at the client's deadline", async () => {
    await expect(pipelineOf(slow)(callOf({ deadline: performance.now() + 1 }))).resolves.toMatchObject({
      code: status.DEADLINE_EXCEEDED,
    });
  });

  it('at once if its deadline has passed, whatever the method', async () => {
    await expect(pipelineOf({})(callOf({ deadline: 0 }))).resolves.toMatchObject({
      code: status.DEADLINE_EXCEEDED,
    });
  });

  it('at once if its deadline is now', async () => {
    stopClock();
    await expect(pipelineOf({})(callOf({ deadline: performance.now() }))).resolves.toMatchObject({
      code: status.DEADLINE_EXCEEDED,
    });
  });

  it('without leaving a timer behind', async () => {
    const deadlineMs = 54_321;
    const timers = watchTimers(deadlineMs);
    await expect(pipelineOf({}, { deadlineMs })(callOf())).resolves.toMatchObject({ code: status.OK });
    expect(timers()).toEqual({ set: 1, left: 0 });
  });

  it('when the client cancels it', async () => {
    const caller = new Caller();
    const reply = pipelineOf(slow)(callOf({ cancellation: caller }));
    caller.go();
    await expect(reply).resolves.toMatchObject({
      code: status.CANCELLED,
      details: 'The caller cancelled the call.',
    });
  });

  it('at once if the client has already cancelled it', async () => {
    await expect(pipelineOf(slow)(callOf({ cancellation: new Caller().go() }))).resolves.toMatchObject({
      code: status.CANCELLED,
    });
  });
});

describe('the log', () => {
  const WAIT_MS = 7;

  it.each([
    [
      'a successful call',
      () => Promise.resolve(ANSWER),
      { level: 20, protocol: 'grpc', code: 'OK', msg: 'request answered' },
    ],
    [
      'a refused call',
      () => Promise.reject(new Failure('ROUTE_NOT_FOUND', 'No.')),
      { level: 30, code: 'NOT_FOUND', reason: 'ROUTE_NOT_FOUND', msg: 'request refused' },
    ],
  ])('records the outcome and duration of %s', async (_, run, line) => {
    stopClock();
    const lines: unknown[] = [];
    const reply = pipelineOf(
      {
        handle: () => {
          vi.advanceTimersByTime(WAIT_MS);
          return run();
        },
      },
      { lines },
    )(callOf());
    await reply;
    expect(lines).toEqual([expect.objectContaining({ ...line, path: PATH, ms: WAIT_MS, sub: 'me' })]);
  });

  it.each([
    ['warns when the store is unavailable', 40, 'STORE_UNAVAILABLE'],
    ['records an invalid request at the debug level', 20, 'ROUTE_INVALID'],
  ] as const)('%s', async (_, level, reason) => {
    const lines: unknown[] = [];
    const error = new Failure(reason, 'No.', { cause: new Error('the cause') });
    await pipelineOf({ handle: () => Promise.reject(error) }, { lines })(callOf());
    expect(lines).toContainEqual(expect.objectContaining({ level, reason, msg: 'No.' }));
  });

  it('names the caller of a call that is refused for its scope', async () => {
    const lines: unknown[] = [];
    await pipelineOf({ access: { scope: 'another' } }, { lines })(callOf());
    expect(lines).toContainEqual(
      expect.objectContaining({ reason: 'SCOPE_MISSING', sub: 'me', msg: 'request refused' }),
    );
  });

  it('marks auth-only calls, and records those that the guard admits at the level debug', async () => {
    const lines: unknown[] = [];
    const pipeline = pipelineOf({}, { lines });
    await pipeline(callOf({ keys: { 'x-auth-only': '1' } }));
    await pipeline(callOf({ metadata: Metadata.fromHttp2Headers({ 'x-auth-only': '1' }) }));
    const { debug, info } = pino.levels.values;
    const authOnly = true;
    expect(lines).toEqual([
      expect.objectContaining({ level: debug, code: 'ABORTED', reason: 'GUARD_PASSED', authOnly }),
      expect.objectContaining({ level: info, code: 'UNAUTHENTICATED', reason: 'TOKEN_MISSING', authOnly }),
    ]);
  });

  it('records a call that ended before its request was complete, which reaches neither guard nor method', async () => {
    const lines: unknown[] = [];
    const end = { code: status.CANCELLED, reason: 'CANCELLED' } as const;
    const reply = await pipelineOf(
      { handle: () => Promise.reject(new Error('ran')) },
      { lines },
    )(callOf({ end }));
    expect(reply.code).toBe(status.CANCELLED);
    const line = { code: 'CANCELLED', reason: 'CANCELLED', msg: 'request refused' };
    expect(lines).toEqual([expect.objectContaining(line)]);
    expect(lines[0]).not.toHaveProperty('sub');
  });

  it('records each call without its token and payload', async () => {
    const lines: unknown[] = [];
    const keys = { authorization: 'hush me', 'x-request-id': 'n' };
    await pipelineOf(
      { handle: () => Promise.resolve(Buffer.from('hush')) },
      { lines },
    )(callOf({ keys, message: Buffer.from('hush') }));
    expect(lines).toEqual([
      expect.objectContaining({ requestId: 'n', path: PATH, code: 'OK', msg: 'request answered' }),
    ]);
    expect(JSON.stringify(lines)).not.toContain('hush');
  });
});

describe('an observer of calls', () => {
  it('sees the reply and why the call failed', async () => {
    const seen: unknown[] = [];
    const observer: Interceptor = (context, next) => {
      const reply = next(context);
      seen.push(reply, context.reason);
      return reply;
    };
    const reply = await pipelineOf({ access: { scope: 'another' } }, { observers: [observer] })(callOf());
    expect(seen).toEqual([reply, 'SCOPE_MISSING']);
  });

  it('adds fields to each log line about the call, and runs inside the observer before it', async () => {
    const addTrace =
      (name: string): Interceptor =>
      (context, next) => {
        context.fields = { ...context.fields, trace: `${context.fields?.['trace'] ?? ''}${name}` };
        return next(context);
      };
    const lines: unknown[] = [];
    const handle = () => Promise.reject(new Error('unforeseen'));
    await pipelineOf({ handle }, { lines, observers: [addTrace('a'), addTrace('b')] })(callOf());
    expect(lines).toMatchObject([
      { msg: 'An internal error occurred.', trace: 'ab' },
      { msg: 'request refused', trace: 'ab' },
    ]);
  });
});

describe('an overloaded service', () => {
  /** A pipeline with these limits and a public method beside the tested one. */
  function pipelineWith(
    limits: Partial<Limits>,
    handle: BytesMethod['handle'],
    cachedResponse?: BytesMethod['cachedResponse'],
  ): Pipeline {
    const methods = [
      bytesMethod(PATH, { scope: 's' }, handle, cachedResponse),
      bytesMethod('/health', 'public', () => ANSWER),
    ];
    const silent = pino({ level: 'silent' });
    return loggedPipeline(methods, { authenticator, ...limits }, silent);
  }

  const waits: BytesMethod['handle'] = () => new Promise(() => undefined);

  it.each([
    ['too many calls under way', { maxCalls: 1 }],
    ['too many waiting calls', { maxWaitingCalls: 2 }],
  ])('refuses a call at once and says when to retry: %s', async (_, limits) => {
    const pipeline = pipelineWith(limits, waits);
    void pipeline(callOf());
    const reply = await pipeline(callOf());
    expect(reply.code).toBe(status.RESOURCE_EXHAUSTED);
    expect(reply.trailers.get('grpc-retry-pushback-ms')).toEqual(['1000']);
    const rich = richErrorOfReply(reply);
    expect(errorInfoOf(rich).reason).toBe('OVERLOADED');
    expect(rich.details).toContainEqual({
      '@type': 'type.googleapis.com/google.rpc.RetryInfo',
      retryDelay: '1s',
    });
  });

  it('never refuses a health check', async () => {
    const pipeline = pipelineWith({ maxCalls: 1 }, waits);
    void pipeline(callOf());
    expect(await pipeline(callOf({ path: '/health' }))).toMatchObject({ code: status.OK });
  });

  it('answers from the cache even if the caller has no place left', async () => {
    const pipeline = pipelineWith({ maxWaitingCalls: 2 }, waits, ({ length }) =>
      length === 0 ? ANSWER : undefined,
    );
    void pipeline(callOf({ message: new Uint8Array(1) }));
    expect(await pipeline(callOf())).toMatchObject({ code: status.OK });
  });

  it('lets one caller wait in half of the places, leaves the rest to others, and begins nothing else', async () => {
    let begun = 0;
    const pipeline = pipelineWith({ maxWaitingCalls: 4 }, (...call) => {
      begun += 1;
      return waits(...call);
    });
    const call = (authorization: string) => pipeline(callOf({ keys: { authorization } }));
    for (const caller of ['me', 'me']) void call(caller);
    expect((await call('me')).details).toContain('The caller has 2 calls waiting.');
    for (const caller of ['you', 'you']) void call(caller);
    expect((await call('they')).details).toContain('It has 4 calls waiting.');
    expect(begun).toBe(4);
  });

  it.each([
    ['under way', { maxCalls: 1 }],
    ['waiting', { maxWaitingCalls: 2 }],
  ])('admits another call when one that was %s has ended, however it ended', async (_, limits) => {
    const refuse = (): never => {
      throw new Failure('ROUTE_NOT_FOUND', 'No.');
    };
    const outcomes = [refuse, () => ANSWER, refuse];
    const pipeline = pipelineWith(limits, () => outcomes.shift()?.() ?? ANSWER);
    const stranger = callOf({ metadata: new Metadata() });
    expect((await pipeline(stranger)).code).toBe(status.UNAUTHENTICATED);
    for (const code of [status.NOT_FOUND, status.OK, status.NOT_FOUND])
      expect((await pipeline(callOf())).code).toBe(code);
  });
});

describe('a method whose call ends early', () => {
  it.each([
    ['the deadline passes', 1, (): undefined => undefined],
    [
      'the client cancels',
      60_000,
      (caller: Caller) => {
        caller.go();
      },
    ],
  ])('gets an aborted signal when %s', async (_, deadlineMs, end) => {
    let signal: { readonly aborted: boolean } | undefined;
    const handle: BytesMethod['handle'] = (_message, context) => {
      signal = context.signal;
      return new Promise(() => undefined);
    };
    const cancellation = new Caller();
    const reply = pipelineOf({ handle }, { deadlineMs })(callOf({ cancellation }));
    expect(signal?.aborted).toBe(false);
    end(cancellation);
    await reply;
    expect(signal?.aborted).toBe(true);
  });
});

describe('a call that ends while the guard waits for keys', () => {
  it.each([
    ['its deadline passes', 1, (): undefined => undefined],
    [
      'its client cancels',
      60_000,
      (caller: Caller) => {
        caller.go();
      },
    ],
  ])('is not continued when the keys arrive: %s', async (_, deadlineMs, end) => {
    const ran: string[] = [];
    const keys = new EventEmitter();
    const waiting: Authenticator = {
      authenticate: async (authorization) => {
        await once(keys, 'fetched');
        return authenticator.authenticate(authorization);
      },
    };
    const method: BytesMethod = {
      path: PATH,
      access: { scope: 's' },
      decode: (message) => {
        ran.push('decoded');
        return message;
      },
      cachedResponse: () => {
        ran.push('looked up');
        return undefined;
      },
      handle: () => {
        ran.push('handled');
        return ANSWER;
      },
    };
    const options = { authenticator: waiting, deadlineMs };
    const pipeline = loggedPipeline([method], options, pino({ level: 'silent' }));
    const cancellation = new Caller();
    const reply = pipeline(callOf({ cancellation }));
    end(cancellation);
    await reply;
    keys.emit('fetched');
    await new Promise((resolve) => setImmediate(resolve));
    expect(ran).toEqual([]);
  });
});

describe('the steps', () => {
  /** Admits so many calls of each caller, ever. */
  function quota(most: number): Interceptor {
    const made = new Map<string, number>();
    return (context, next) => {
      const { subject = '' } = context.caller ?? {};
      const before = made.get(subject) ?? 0;
      if (before >= most) throw overloadFailure(`The caller has made ${before} calls.`);
      made.set(subject, before + 1);
      return next(context);
    };
  }

  it('are shared by all pipelines of a process, such as a quota', async () => {
    const log = new CallLog(pino({ level: 'silent' }), 'failures');
    const steps = [...createSteps({ ...LIMITS, authenticator, log }), quota(3)];
    const method = bytesMethod(PATH, { scope: 's' }, () => ANSWER);
    const [grpc, rest] = [createPipeline([method], steps), createPipeline([method], steps)];
    const ends: status[] = [];
    for (const pipeline of [grpc, rest, grpc, rest]) ends.push((await pipeline(callOf())).code);
    expect(ends).toEqual([status.OK, status.OK, status.OK, status.RESOURCE_EXHAUSTED]);
  });
});
