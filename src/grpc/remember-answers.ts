import { LRUCache } from 'lru-cache';
import type { Method } from './method.js';

/** What an entry takes beside its two texts of bytes, in bytes: measured, and rounded up. */
const ENTRY_OVERHEAD = 160;

/**
 * A method whose answer to a request never changes, with its latest answers at hand in their encoded form.
 * Failures are not remembered: what is not there now may be there later.
 *
 * @param maxBytes most bytes that all entries take together
 */
export function rememberAnswers(method: Method, maxBytes: number): Method {
  // Strings of one-byte characters: the smallest form of many short byte sequences, and the cheapest key.
  const answers = new LRUCache<string, string>({
    maxSize: maxBytes,
    sizeCalculation: (answer, request) => answer.length + request.length + ENTRY_OVERHEAD,
  });
  return {
    ...method,
    run(message, context) {
      const request = toText(message);
      const known = answers.get(request);
      if (known !== undefined) return Buffer.from(known, 'latin1');
      const remember = (answer: Uint8Array): Uint8Array => {
        answers.set(request, toText(answer));
        return answer;
      };
      const answer = method.run(message, context);
      return answer instanceof Promise ? answer.then(remember) : remember(answer);
    },
  };
}

function toText({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).toString('latin1');
}
