import { performance } from 'node:perf_hooks';
import { setImmediate, setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Closing } from '../../src/lifecycle/closing.js';

describe('closing', () => {
  it('closes all servers at once, and then the resources in reverse order', async () => {
    const closing = new Closing();
    const order: string[] = [];
    const server = (name: string) => async (): Promise<void> => {
      order.push(`${name} begins`);
      await setImmediate();
      order.push(`${name} ends`);
    };
    closing.resource('x', () => void order.push('pool'));
    closing.server('x', server('gRPC'));
    closing.resource('x', () => void order.push('channel'));
    closing.server('x', server('HTTP'));
    await expect(closing.close()).resolves.toBe(true);
    expect(order).toEqual(['gRPC begins', 'HTTP begins', 'gRPC ends', 'HTTP ends', 'channel', 'pool']);
  });

  it.each([
    ['rejects', (error: Error) => Promise.reject(error)],
    [
      'throws',
      (error: Error): never => {
        throw error;
      },
    ],
  ])('continues after a close that %s, and reports every failure at the end', async (_, failWith) => {
    const closing = new Closing();
    const order: string[] = [];
    const failing = (name: string) => (): Promise<void> => {
      order.push(name);
      return failWith(new Error(name));
    };
    closing.resource('x', () => void order.push('pool'));
    closing.resource('x', failing('channel'));
    closing.server('x', failing('gRPC'));
    closing.server('x', async () => {
      await setImmediate();
      order.push('HTTP');
    });
    await expect(closing.close()).rejects.toThrow(
      new AggregateError([new Error('gRPC'), new Error('channel')], 'Not everything could be closed.'),
    );
    expect(order).toEqual(['gRPC', 'HTTP', 'channel', 'pool']);
  });

  it('makes the announcements first, and keeps the servers open for the drain time', async () => {
    const closing = new Closing();
    const order: string[] = [];
    closing.server('HTTP server', () => void order.push('HTTP'));
    closing.announce('not serving', () => void order.push('announcement'));
    // Timers of the same length end in the order in which they began.
    void delay(50).then(() => order.push('drained'));
    await closing.close({ drainMs: 50 });
    expect(order).toEqual(['announcement', 'drained', 'HTTP']);
  });

  it('starts its time limit after the drain time', async () => {
    const closing = new Closing(100);
    closing.server('HTTP server', () => delay(10));
    await expect(closing.close({ drainMs: 150 })).resolves.toBe(true);
  });

  it('logs each step with the time since the beginning', async () => {
    let now = 1_000;
    vi.spyOn(performance, 'now').mockImplementation(() => now);
    onTestFinished(() => void vi.restoreAllMocks());
    const take = (ms: number) => (): void => {
      now += ms;
    };
    const closing = new Closing();
    closing.announce('not serving', take(0.4));
    closing.server('HTTP server', take(20.2));
    closing.resource('database', take(5));
    const log: [step: string, ms: number][] = [];
    await closing.close({ log: (...step) => void log.push(step) });
    expect(log).toEqual([
      ['not serving', 0],
      ['closed the HTTP server', 21],
      ['closed the database', 26],
    ]);
  });

  it('ends at its time limit, even if a resource takes longer', async () => {
    const closing = new Closing(1);
    closing.resource('x', () => new Promise(() => undefined));
    await expect(closing.close()).resolves.toBe(false);
  });

  it('leaves no timer behind', async () => {
    const timers = (): number =>
      process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
    const before = timers();
    await Promise.all(Array.from({ length: 50 }, () => new Closing().close()));
    // The test runner has timers of its own.
    expect(timers()).toBeLessThan(before + 50);
  });

  it('reports the failures so far at its time limit', async () => {
    const closing = new Closing(1);
    closing.server('x', () => Promise.reject(new Error('gRPC')));
    closing.resource('x', () => new Promise(() => undefined));
    await expect(closing.close()).rejects.toThrow(AggregateError);
  });
});
