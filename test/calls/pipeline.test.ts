import { Metadata, status } from '@grpc/grpc-js';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Authenticator } from '../../src/auth/authenticator.js';
import { Admission, type AdmissionLimits } from '../../src/calls/admission.js';
import type { Call, Reply } from '../../src/calls/call.js';
import { CallError } from '../../src/calls/failures.js';
import { createInterceptors } from '../../src/calls/interceptors.js';
import { createPipeline, type Pipeline } from '../../src/calls/pipeline.js';
import { RegistryError } from '../../src/registry/errors.js';
import { type BytesMethod, bytesMethod } from '../support/bytes-method.js';
import { Caller } from '../../packages/transcoder/test/support/caller.js';
import { interceptorOptions, LIMITS } from '../support/interceptor-options.js';
import { errorInfoOf, richErrorOfReply } from '../support/rich-error.js';

const PATH = '/test.Service/Method';
const ANSWER = new Uint8Array([1, 2, 3]);

/** Its tokens end with their subject. */
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

/** A pipeline whose replies can be awaited, synchronous ones too. */
function pipelineOf(
  method: Partial<BytesMethod>,
  lines: string[] = [],
  deadlineMs = 60_000,
): (call: Call) => Promise<Reply> {
  const pipeline = directly(method, lines, deadlineMs);
  return async (call) => pipeline(call);
}

function directly(method: Partial<BytesMethod>, lines: string[] = [], deadlineMs = 60_000): Pipeline {
  const logger = pino({ level: 'debug' }, { write: (line) => lines.push(line) });
  const whole = { ...bytesMethod(PATH, { scope: 's' }, () => Promise.resolve(ANSWER)), ...method };
  return createPipeline(
    [whole],
    createInterceptors(interceptorOptions({ authenticator, deadlineMs }, logger)),
  );
}

function callOf(change: Partial<Call> & { readonly keys?: Readonly<Record<string, string>> } = {}): Call {
  const metadata = new Metadata();
  for (const [key, value] of Object.entries({ authorization: 'me', ...change.keys }))
    metadata.set(key, value);
  const cancellation = new Caller();
  return { path: PATH, message: new Uint8Array(), metadata, deadline: Infinity, cancellation, ...change };
}

/** The trailers of a reply on the wire: names and values, encoded as gRPC does. */
function trailerBytes({ code, details, trailers }: Reply): number {
  const fields: [string, string][] = Object.entries(trailers.getMap()).map(([name, value]) => [
    name,
    Buffer.isBuffer(value) ? value.toString('base64') : value,
  ]);
  fields.push(['grpc-status', String(code)], ['grpc-message', encodeURI(details)]);
  return fields.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
}

/** Freezes time for the test, until it is set. */
function stopClock(): void {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
}

describe('a call', () => {
  it('is answered by its method, with its own request id in the trailers', async () => {
    const reply = await pipelineOf({})(callOf({ keys: { 'x-request-id': 'my-name' } }));
    expect(reply).toMatchObject({ code: status.OK, details: '', message: ANSWER });
    expect(reply.trailers.get('x-request-id')).toEqual(['my-name']);
  });

  it('is answered synchronously from memory', () => {
    const recall = (): Uint8Array => ANSWER;
    expect(directly({ recall })(callOf())).toMatchObject({ code: status.OK, message: ANSWER });
  });

  it('fails synchronously where nothing had to be awaited', () => {
    const decode = (): never => {
      throw new CallError('REQUEST_MALFORMED', 'No.');
    };
    expect(directly({ decode })(callOf())).toMatchObject({ code: status.INVALID_ARGUMENT, details: 'No.' });
  });

  it.each([
    ['without a name', {}],
    ['with an empty name', { 'x-request-id': '' }],
    ['with a name of 129 characters', { 'x-request-id': 'n'.repeat(129) }],
    ['with a space in its name', { 'x-request-id': 'a b' }],
  ])('%s gets one', async (_, keys) => {
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

  it('of an unknown method is UNIMPLEMENTED, also without a token', async () => {
    const reply = await pipelineOf({})(callOf({ path: '/test.Service/Other', metadata: new Metadata() }));
    expect(reply.code).toBe(status.UNIMPLEMENTED);
    expect(errorInfoOf(richErrorOfReply(reply))).toMatchObject({
      reason: 'PATH_UNKNOWN',
      domain: 'routing.v1',
    });
  });
});

describe('the guard', () => {
  it('refuses a method without a declared requirement', async () => {
    const reply = await pipelineOf({ access: undefined })(callOf());
    expect(reply.code).toBe(status.PERMISSION_DENIED);
    expect(errorInfoOf(richErrorOfReply(reply)).reason).toBe('SCOPE_MISSING');
  });

  it('lets a public method be called without a token', async () => {
    const reply = await pipelineOf({ access: 'public' })(callOf({ metadata: new Metadata() }));
    expect(reply.code).toBe(status.OK);
  });

  it('stands before the size and the decoding of the message', async () => {
    const message = new Uint8Array(65_537);
    const unauthenticated = await pipelineOf({})(callOf({ message, metadata: new Metadata() }));
    const known = await pipelineOf({})(callOf({ message }));
    expect(unauthenticated.code).toBe(status.UNAUTHENTICATED);
    expect(errorInfoOf(richErrorOfReply(known)).reason).toBe('REQUEST_TOO_LARGE');
  });

  it('lets a message of 64 KiB pass', async () => {
    const message = new Uint8Array(65_536);
    await expect(pipelineOf({})(callOf({ message }))).resolves.toMatchObject({ code: status.OK });
  });

  it('ends a call that only asks for it, without running the method', async () => {
    const pipeline = pipelineOf({ handle: () => Promise.reject(new Error('ran')) });
    const reply = await pipeline(callOf({ keys: { 'x-guard-only': '1' } }));
    expect(reply).toMatchObject({ code: status.OK, message: new Uint8Array() });
  });

  it('refuses an unauthenticated call that only asks for it', async () => {
    const metadata = new Metadata();
    metadata.set('x-guard-only', '1');
    await expect(pipelineOf({})(callOf({ metadata }))).resolves.toMatchObject({
      code: status.UNAUTHENTICATED,
    });
  });
});

describe('a failure', () => {
  it('of our own keeps its text', async () => {
    const error = new RegistryError('ROUTE_EXISTS', 'It exists.', { metadata: { route_id: 'r' } });
    const reply = await pipelineOf({ handle: () => Promise.reject(error) })(callOf());
    expect(reply).toMatchObject({ code: status.ALREADY_EXISTS, details: 'It exists.' });
    expect(errorInfoOf(richErrorOfReply(reply)).metadata).toEqual({ route_id: 'r' });
  });

  it.each([
    ['an error that nobody foresaw', () => Promise.reject(new Error('secret: mysql://u:p@h'))],
    [
      'a status of grpc-js that a driver let through',
      () => Promise.reject(Object.assign(new Error('secret'), { code: status.NOT_FOUND, details: 'secret' })),
    ],
    [
      'an error thrown before there was a promise',
      (): never => {
        throw new TypeError('secret');
      },
    ],
  ])('%s becomes INTERNAL, and is logged once with its cause and the id of the call', async (_, handle) => {
    const lines: string[] = [];
    const reply = await pipelineOf({ handle }, lines)(callOf({ keys: { 'x-request-id': 'n' } }));
    expect(reply).toMatchObject({ code: status.INTERNAL, details: 'An internal error occurred.' });
    expect(JSON.stringify(richErrorOfReply(reply))).not.toContain('secret');
    expect(lines.filter((line) => line.includes('secret'))).toEqual([
      expect.stringContaining('"requestId":"n"'),
    ]);
  });

  it('omits violations that do not fit the trailers, and counts them', async () => {
    const violations = Array.from({ length: 200 }, (_, index) => ({
      field: `f${index}`,
      description: 'd'.repeat(100),
    }));
    const error = new RegistryError('ROUTE_INVALID', 'All is wrong.', { violations });
    const reply = await pipelineOf({ handle: () => Promise.reject(error) })(callOf());
    const rich = richErrorOfReply(reply);
    const kept = (rich.details as { fieldViolations?: object[] }[]).flatMap(
      ({ fieldViolations = [] }) => fieldViolations,
    );
    expect(errorInfoOf(rich).metadata).toEqual({ violations_omitted: String(200 - kept.length) });
    // One more would not have fitted: it takes 113 bytes, and a third more in Base64.
    expect(trailerBytes(reply)).toBeGreaterThan(3_584 - 300);
    expect(trailerBytes(reply)).toBeLessThanOrEqual(3_584);
  });

  it('fits the trailers when its message is long, too', async () => {
    const violations = Array.from({ length: 200 }, (_, index) => ({ field: `f${index}`, description: 'd' }));
    const error = new RegistryError('ROUTE_INVALID', 'ü'.repeat(250), { violations });
    const reply = await pipelineOf({ handle: () => Promise.reject(error) })(callOf());
    expect(trailerBytes(reply)).toBeLessThanOrEqual(3_584);
    expect(errorInfoOf(richErrorOfReply(reply)).metadata).toHaveProperty('violations_omitted');
  });
});

describe('the time of a call', () => {
  const slow: Partial<BytesMethod> = { handle: () => new Promise(() => undefined) };

  it('ends at the limit of the server', async () => {
    const reply = await pipelineOf(slow, [], 1)(callOf());
    expect(reply).toMatchObject({
      code: status.DEADLINE_EXCEEDED,
      details: 'The deadline passed before the call was answered.',
    });
  });

  it('ends at the deadline of the client', async () => {
    await expect(pipelineOf(slow)(callOf({ deadline: performance.now() + 1 }))).resolves.toMatchObject({
      code: status.DEADLINE_EXCEEDED,
    });
  });

  it('has ended when the deadline lies in the past, whatever the method', async () => {
    await expect(pipelineOf({})(callOf({ deadline: 0 }))).resolves.toMatchObject({
      code: status.DEADLINE_EXCEEDED,
    });
  });

  it('has ended at the deadline itself', async () => {
    stopClock();
    await expect(pipelineOf({})(callOf({ deadline: performance.now() }))).resolves.toMatchObject({
      code: status.DEADLINE_EXCEEDED,
    });
  });

  it('is no longer timed once the call is answered', async () => {
    stopClock();
    await expect(pipelineOf({})(callOf())).resolves.toMatchObject({ code: status.OK });
    expect(vi.getTimerCount()).toBe(0);
  });

  it('ends when the client goes', async () => {
    const caller = new Caller();
    const reply = pipelineOf(slow)(callOf({ cancellation: caller }));
    caller.go();
    await expect(reply).resolves.toMatchObject({
      code: status.CANCELLED,
      details: 'The caller cancelled the call.',
    });
  });

  it('has ended for a client that is already gone', async () => {
    await expect(pipelineOf(slow)(callOf({ cancellation: new Caller().go() }))).resolves.toMatchObject({
      code: status.CANCELLED,
    });
  });
});

describe('the log', () => {
  const WAIT_MS = 7;

  it.each([
    [
      'an answer',
      () => Promise.resolve(ANSWER),
      { level: 20, protocol: 'grpc', code: 'OK', msg: 'call answered' },
    ],
    [
      'a refusal',
      () => Promise.reject(new RegistryError('ROUTE_NOT_FOUND', 'No.')),
      { level: 30, code: 'NOT_FOUND', reason: 'ROUTE_NOT_FOUND', msg: 'call refused' },
    ],
  ])('records the outcome and duration of %s', async (_, run, line) => {
    stopClock();
    const lines: string[] = [];
    const reply = pipelineOf(
      {
        handle: () => {
          vi.advanceTimersByTime(WAIT_MS);
          return run();
        },
      },
      lines,
    )(callOf());
    await reply;
    expect(lines.map((written) => JSON.parse(written) as unknown)).toEqual([
      expect.objectContaining({ ...line, path: PATH, ms: WAIT_MS, sub: 'me' }),
    ]);
  });

  it.each([
    ['warns of a store that is away', 40, 'STORE_UNAVAILABLE'],
    ["has a caller's own mistake for who debugs", 20, 'ROUTE_INVALID'],
  ] as const)('%s', async (_, level, reason) => {
    const lines: string[] = [];
    const error = new RegistryError(reason, 'No.', { cause: new Error('the cause') });
    await pipelineOf({ handle: () => Promise.reject(error) }, lines)(callOf());
    expect(lines.map((line) => JSON.parse(line) as unknown)).toContainEqual(
      expect.objectContaining({ level, reason, msg: 'No.' }),
    );
  });

  it('has a line for a call that only asks the guard if it is refused', async () => {
    const lines: string[] = [];
    const pipeline = pipelineOf({}, lines);
    await pipeline(callOf({ keys: { 'x-guard-only': '1' } }));
    expect(lines).toEqual([]);
    await pipeline(callOf({ metadata: Metadata.fromHttp2Headers({ 'x-guard-only': '1' }) }));
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      expect.objectContaining({ code: 'UNAUTHENTICATED', reason: 'TOKEN_MISSING', msg: 'call refused' }),
    ]);
  });

  it('has a line for each call, without token and payload', async () => {
    const lines: string[] = [];
    const keys = { authorization: 'hush me', 'x-request-id': 'n' };
    await pipelineOf(
      { handle: () => Promise.resolve(Buffer.from('hush')) },
      lines,
    )(callOf({ keys, message: Buffer.from('hush') }));
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      expect.objectContaining({ requestId: 'n', path: PATH, code: 'OK', msg: 'call answered' }),
    ]);
    expect(lines.join('')).not.toContain('hush');
  });
});

describe('an overloaded service', () => {
  /** A pipeline that takes on so little, beside a public method. */
  function limited(
    limits: Partial<AdmissionLimits>,
    handle: BytesMethod['handle'],
    recall?: BytesMethod['recall'],
  ): Pipeline {
    const admission = new Admission({ ...LIMITS, ...limits });
    const methods = [
      bytesMethod(PATH, { scope: 's' }, handle, recall),
      bytesMethod('/health', 'public', () => ANSWER),
    ];
    const silent = pino({ level: 'silent' });
    return createPipeline(
      methods,
      createInterceptors(interceptorOptions({ authenticator, admission }, silent)),
    );
  }

  const waits: BytesMethod['handle'] = () => new Promise(() => undefined);

  it.each([
    ['calls under way', { maxCalls: 1 }],
    ['places', { maxWaitingCalls: 2 }],
  ])('that has no more %s refuses a call at once, and says when to try again', async (_, limits) => {
    const pipeline = limited(limits, waits);
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

  it('never refuses health', async () => {
    const pipeline = limited({ maxCalls: 1 }, waits);
    void pipeline(callOf());
    expect(await pipeline(callOf({ path: '/health' }))).toMatchObject({ code: status.OK });
  });

  it('answers from memory without a place', async () => {
    const pipeline = limited({ maxWaitingCalls: 2 }, waits, ({ length }) =>
      length === 0 ? ANSWER : undefined,
    );
    void pipeline(callOf({ message: new Uint8Array(1) }));
    expect(await pipeline(callOf())).toMatchObject({ code: status.OK });
  });

  it('takes on other calls when one has ended, however it ended', async () => {
    const pipeline = limited({ maxCalls: 1 }, (message) => {
      if (message.length > 0) throw new RegistryError('ROUTE_NOT_FOUND', 'No.');
      return ANSWER;
    });
    for (const message of [new Uint8Array(1), new Uint8Array(), new Uint8Array(1)]) {
      expect((await pipeline(callOf({ message }))).code).not.toBe(status.RESOURCE_EXHAUSTED);
    }
  });
});

describe('the message of a call', () => {
  it('is not looked at before the guard has passed', async () => {
    const reply = await pipelineOf({})(callOf({ message: undefined, metadata: new Metadata() }));
    expect(reply).toMatchObject({ code: status.UNAUTHENTICATED });
  });

  it.each([
    ['missing, or one of several', undefined, status.INVALID_ARGUMENT],
    ['too large', new Uint8Array(65_537), status.RESOURCE_EXHAUSTED],
  ])('is refused when it is %s', async (_, message, code) => {
    expect(await pipelineOf({})(callOf({ message }))).toMatchObject({ code });
  });
});

describe('a call that ends before its work', () => {
  it.each([
    ['by its deadline', 1, (): undefined => undefined],
    [
      'by its client',
      60_000,
      (caller: Caller) => {
        caller.go();
      },
    ],
  ])('%s tells its work so', async (_, deadlineMs, end) => {
    let signal: { readonly aborted: boolean } | undefined;
    const handle: BytesMethod['handle'] = (_message, context) => {
      signal = context.signal;
      return new Promise(() => undefined);
    };
    const cancellation = new Caller();
    const reply = pipelineOf({ handle }, [], deadlineMs)(callOf({ cancellation }));
    expect(signal?.aborted).toBe(false);
    end(cancellation);
    await reply;
    expect(signal?.aborted).toBe(true);
  });
});
