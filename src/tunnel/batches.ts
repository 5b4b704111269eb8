import { MOST_AT_A_TIME, MOST_BYTES_AT_A_TIME } from './limits.js';

/** What is to be sent, in as few batches as the limits allow; a larger message is a batch by itself. */
export function* batches<Item extends { readonly message: Uint8Array }>(
  items: readonly Item[],
): Generator<Item[], void> {
  let batch: Item[] = [];
  let bytes = 0;
  for (const item of items) {
    const { length } = item.message;
    if (batch.length === MOST_AT_A_TIME || (batch.length > 0 && bytes + length > MOST_BYTES_AT_A_TIME)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(item);
    bytes += length;
  }
  if (batch.length > 0) yield batch;
}
