import { onTestFinished } from 'vitest';

/** Closes a resource when the test ends, in reverse order of opening. */
export function opening<T extends { close: () => unknown }>(it: T): T {
  onTestFinished(async () => {
    await it.close();
  });
  return it;
}
