import { expect } from 'vitest';

/** Waits until a number is above zero and stays the same for a while. Returns it. */
export async function settled(value: () => number): Promise<number> {
  let latest = 0;
  let times = 0;
  await expect
    .poll(
      () => {
        const now = value();
        times = now === latest ? times + 1 : 0;
        latest = now;
        return now > 0 && times >= 5;
      },
      { interval: 100 },
    )
    .toBe(true);
  return latest;
}
