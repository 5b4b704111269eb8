import { LRUCache } from 'lru-cache';
import type { Method } from './method.js';

/** What an entry takes beside its two texts of bytes, in bytes: measured, and rounded up. */
const ENTRY_OVERHEAD = 320;

/**
 * A method whose answer to a request never changes, with its latest answers at hand in their encoded form.
 * Failures are not remembered: what is not there now may be there later.
 *
 * @param maxBytes most bytes that all entries take together
 */
export function rememberAnswers(method: Method, maxBytes: number): Method {
  const answers = new LRUCache<string, Uint8Array>({
    maxSize: maxBytes,
    sizeCalculation: (answer, request) => answer.length + request.length + ENTRY_OVERHEAD,
  });
  return {
    ...method,
    async run(message, context) {
      // A string of one-byte characters: the cheapest key that bytes have.
      const request = Buffer.from(message.buffer, message.byteOffset, message.length).toString('latin1');
      const known = answers.get(request);
      if (known !== undefined) return known;
      const answer = await method.run(message, context);
      answers.set(request, answer);
      return answer;
    },
  };
}
