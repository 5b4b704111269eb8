import type { Socket } from 'node:net';
import { expect } from 'vitest';

/** Waits until a number is above zero and has stayed the same for half a second. Returns it. */
export async function settled(value: () => number): Promise<number> {
  let latest = 0;
  let timesSame = 0;
  await expect
    .poll(
      () => {
        const now = value();
        timesSame = now === latest ? timesSame + 1 : 0;
        latest = now;
        return now > 0 && timesSame >= 5;
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
    // With nothing left to write, it is the writer that pauses, not the reader.
    const bytesTaken = bytesWritten - writableLength;
    return writableLength > 0 ? bytesTaken : 0;
  });
}
