import { expect, it } from 'vitest';
import { withoutStack } from '../../src/grpc-js/without-stack.js';

const hasStack = (error: Error): boolean => error.stack !== `Error: ${error.message}`;

it('an error made within has no stack, and one made afterwards has one', () => {
  expect(hasStack(withoutStack(() => new Error('within')))).toBe(false);
  expect(hasStack(new Error('afterwards'))).toBe(true);
});

it('an error made after the function has thrown has a stack', () => {
  const fail = (): never => {
    throw new Error('within');
  };
  expect(() => withoutStack(fail)).toThrow('within');
  expect(hasStack(new Error('afterwards'))).toBe(true);
});
