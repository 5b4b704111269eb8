import type { Socket } from 'node:net';
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

/** Waits until nothing more can be written to a socket, since its other end does not read. */
export async function stuck(socket: () => Socket | null | undefined): Promise<void> {
  await settled(() => {
    const { bytesWritten = 0, writableLength = 0 } = socket() ?? {};
    // Otherwise it is the writer that pauses.
    return writableLength > 0 ? bytesWritten - writableLength : 0;
  });
}
