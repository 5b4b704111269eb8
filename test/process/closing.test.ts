import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { Closing } from '../../src/process/closing.js';

describe('closing', () => {
  it('begins with all servers at once and goes on with the rest in reverse', async () => {
    const closing = new Closing();
    const order: string[] = [];
    const server = (name: string) => async (): Promise<void> => {
      order.push(`${name} begins`);
      await setImmediate();
      order.push(`${name} ends`);
    };
    closing.resource(() => void order.push('pool'));
    closing.server(server('gRPC'));
    closing.resource(() => void order.push('channel'));
    closing.server(server('HTTP'));
    await expect(closing.close()).resolves.toBe(true);
    expect(order).toEqual(['gRPC begins', 'HTTP begins', 'gRPC ends', 'HTTP ends', 'channel', 'pool']);
  });
});
