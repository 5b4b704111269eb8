import { Metadata } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import type { Method } from '../../src/grpc/method.js';
import { rememberAnswers } from '../../src/grpc/remember-answers.js';

const CONTEXT = { metadata: new Metadata(), caller: undefined };

/** Its answers can be awaited, whether they are there at once or not. */
async function runOf(method: Method, message: Buffer): Promise<Uint8Array> {
  return method.run(message, CONTEXT);
}

/** A method that answers with what it was asked, and tells how often it ran. */
function counting(): { runs: string[]; method: Method } {
  const runs: string[] = [];
  const method: Method = {
    path: '/test.Service/Get',
    access: 'public',
    run: (message) => {
      const asked = Buffer.from(message).toString('hex');
      runs.push(asked);
      return asked === '00' ? Promise.reject(new Error('not there')) : Promise.resolve(Buffer.from(message));
    },
  };
  return { runs, method };
}

describe('a method whose answers never change', () => {
  it('runs once for a request', async () => {
    const { runs, method } = counting();
    const remembering = rememberAnswers(method, 10_000);
    await expect(runOf(remembering, Buffer.from([255, 1]))).resolves.toEqual(Buffer.from([255, 1]));
    await expect(runOf(remembering, Buffer.from([255, 1]))).resolves.toEqual(Buffer.from([255, 1]));
    expect(runs).toEqual(['ff01']);
  });

  it('takes requests apart that differ in one bit, or in length', async () => {
    const { runs, method } = counting();
    const remembering = rememberAnswers(method, 10_000);
    const requests = [[1], [129], [1, 0], [0, 1], []];
    for (const request of requests) {
      await expect(runOf(remembering, Buffer.from(request))).resolves.toEqual(Buffer.from(request));
    }
    expect(runs).toHaveLength(requests.length);
  });

  it('has the answer to a repeated request at once', async () => {
    const { method } = counting();
    const remembering = rememberAnswers(method, 10_000);
    await remembering.run(Buffer.from([1]), CONTEXT);
    expect(remembering.run(Buffer.from([1]), CONTEXT)).toEqual(Buffer.from([1]));
  });

  it('runs again after a failure', async () => {
    const { runs, method } = counting();
    const remembering = rememberAnswers(method, 10_000);
    await expect(runOf(remembering, Buffer.from([0]))).rejects.toThrow('not there');
    await expect(runOf(remembering, Buffer.from([0]))).rejects.toThrow('not there');
    expect(runs).toHaveLength(2);
  });

  it('forgets the oldest answers when its bytes are used up', async () => {
    const { runs, method } = counting();
    const remembering = rememberAnswers(method, 2_048);
    const requests = Array.from({ length: 200 }, (_, i) => Buffer.from([i + 1]));
    for (const request of requests) await remembering.run(request, CONTEXT);
    await remembering.run(Buffer.from([200]), CONTEXT);
    await remembering.run(Buffer.from([1]), CONTEXT);
    expect(runs.slice(199)).toEqual(['c8', '01']);
  });

  it('is otherwise the method that it was', () => {
    const { method } = counting();
    expect(rememberAnswers(method, 10_000)).toMatchObject({ path: method.path, access: 'public' });
  });
});
