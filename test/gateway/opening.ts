import { onTestFinished } from 'vitest';

/** Closes something at the end of the test, what was opened last first. */
export function opening<T extends { close: () => unknown }>(it: T): T {
  onTestFinished(async () => {
    await it.close();
  });
  return it;
}
