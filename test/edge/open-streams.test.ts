import type { ServerHttp2Stream } from 'node:http2';
import { type Duplex, PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { OpenStreams } from '../../src/edge/open-streams.js';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** So many open streams, of at most four. */
function opened(count: number) {
  const open = new OpenStreams(4);
  const streams = Array.from({ length: count }, () => new PassThrough() as Duplex as ServerHttp2Stream);
  streams.forEach(() => {
    open.open();
  });
  const [first = fail(), second = fail(), third = fail()] = streams;
  return { open, first, second, third };
}

function fail(): never {
  throw new Error('The test opens at least three streams.');
}

describe('open streams', () => {
  it('are full until the turn is over in which one has closed', async () => {
    const { open, first } = opened(4);
    open.close(first);
    expect(open.full).toBe(true);
    await turn();
    expect(open.full).toBe(false);
    open.open();
    expect(open.full).toBe(true);
  });

  it('are stuck if they were answered before, the oldest first, as many as are beyond half of the most', () => {
    const { open, first, second, third } = opened(4);
    open.answer(first, 1);
    open.answer(second, 2);
    open.answer(third, 3);
    expect(open.stuck(1)).toEqual([]);
    expect(open.stuck(2)).toEqual([first]);
    expect(open.stuck(4)).toEqual([first, second]);
    open.close(first);
    expect(open.stuck(4)).toEqual([second, third]);
  });

  it('are not kept when they are answered after their end, as calls of clients that have gone are', () => {
    const { open, first, second } = opened(4);
    first.destroy();
    open.answer(first, 1);
    open.answer(second, 1);
    expect(open.stuck(2)).toEqual([second]);
  });

  it('are not stuck while no more than half of the most are open', async () => {
    const { open, first, second, third } = opened(3);
    open.answer(first, 1);
    open.close(second);
    await turn();
    open.answer(third, 1);
    expect(open.stuck(2)).toEqual([]);
  });
});
