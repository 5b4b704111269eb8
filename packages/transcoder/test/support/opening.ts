import { onTestFinished } from 'vitest';

/** Closes something at the end of the test, in reverse order of opening. */
export function opening<T extends { close: () => unknown }>(it: T): T {
  onTestFinished(async () => {
    await it.close();
  });
  return it;
}
