import { status } from '@grpc/grpc-js';
import type { UnaryCall, UnaryReply } from '@route-registry/transcoder';
import { expect, it, vi } from 'vitest';
import { guardOf } from '../../src/gateway/guard.js';
import { Deferred } from '../../packages/transcoder/test/support/deferred.js';
import { PATH, unaryCall } from '../../packages/transcoder/test/support/unary-call.js';

const ADMITTED: UnaryReply = { code: status.OK, details: '', answered: true };
/** How the server admits an auth-only call; the guard of a version before 0.2 replied with OK. */
const PASSED: UnaryReply = { code: status.ABORTED, details: '', answered: true };
const REFUSED: UnaryReply = { code: status.UNAUTHENTICATED, details: 'No.', answered: true };
/** In milliseconds since the epoch. */
const DEADLINE = Date.now() + 10_000;

/** A guard whose upstream responds when the test tells it to. */
function startGuard(admittedMs?: number) {
  const questions: { readonly call: UnaryCall; readonly reply: Deferred<UnaryReply> }[] = [];
  const guard = guardOf(
    {
      unary: (call) => {
        const reply = new Deferred<UnaryReply>();
        questions.push({ call, reply });
        return reply.promise;
      },
    },
    admittedMs,
  );
  const ask = async (token: string, requestId: string, more: Partial<UnaryCall> = {}) =>
    guard(
      unaryCall({
        metadata: new Map([
          ['authorization', token],
          ['x-request-id', requestId],
        ]),
        deadline: DEADLINE,
        ...more,
      }),
    );
  const answer = (index: number, reply: UnaryReply): void => questions[index]?.reply.resolve(reply);
  const ids = (): unknown[] => questions.map(({ call }) => call.metadata.get('x-request-id'));
  return { ask, answer, ids, questions };
}

it('the guard gets the call without its message, marked as auth-only', async () => {
  const { ask, answer, questions } = startGuard();
  const reply = ask('me', 'a', { message: Buffer.from('secret') });
  answer(0, PASSED);
  expect(await reply).toEqual(ADMITTED);
  expect(questions[0]?.call).toMatchObject({ path: PATH, message: new Uint8Array(), deadline: DEADLINE });
  expect(questions[0]?.call.metadata.get('x-auth-only')).toBe('1');
});

it('an admission is reused for a limited time, for the same credential and method', async () => {
  const { ask, answer, ids } = startGuard(200);
  const first = ask('me', 'a');
  answer(0, ADMITTED);
  await first;
  expect(await ask('me', 'b')).toBe(ADMITTED);
  void ask('you', 'c');
  void ask('me', 'd', { path: '/other' });
  expect(ids()).toEqual(['a', 'c', 'd']);
  await vi.waitFor(() => {
    void ask('me', 'later');
    expect(ids()).toContain('later');
  });
});

it('the end of an auth-only call by the channel itself is no admission', async () => {
  const { ask, answer } = startGuard();
  const reply = ask('me', 'a');
  answer(0, { ...PASSED, answered: false });
  expect((await reply).code).toBe(status.ABORTED);
});

it('at most a thousand admissions are reused', async () => {
  const { ask, answer, ids } = startGuard();
  for (let caller = 0; caller <= 1_000; caller++) {
    const reply = ask(`caller ${caller}`, `${caller}`);
    answer(caller, ADMITTED);
    await reply;
  }
  void ask('caller 999', 'shared');
  void ask('caller 1000', 'beyond');
  expect(ids().slice(1_000)).toEqual(['1000', 'beyond']);
});

it('requests before the first admission, and after a refusal, ask for themselves', async () => {
  const { ask, answer, ids } = startGuard();
  const replies = [ask('me', 'a'), ask('me', 'b')];
  answer(0, { code: status.CANCELLED, details: '', answered: true });
  answer(1, REFUSED);
  expect((await Promise.all(replies)).map(({ code }) => code)).toEqual([
    status.CANCELLED,
    status.UNAUTHENTICATED,
  ]);
  void ask('me', 'c');
  expect(ids()).toEqual(['a', 'b', 'c']);
});

it.each([
  { what: 'an admission is shared', reply: PASSED, verdict: ADMITTED, questions: 1 },
  { what: 'a refusal is not shared', reply: REFUSED, verdict: REFUSED, questions: 2 },
])('a guard in the same process responds synchronously: $what', ({ reply, verdict, questions }) => {
  let asked = 0;
  const guard = guardOf({
    unary: () => {
      asked += 1;
      return reply;
    },
  });
  expect([guard(unaryCall()), guard(unaryCall())]).toEqual([verdict, verdict]);
  expect(asked).toBe(questions);
});
