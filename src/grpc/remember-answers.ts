import { ByteCache } from '../runtime/byte-cache.js';
import type { Method } from './method.js';

/**
 * A method whose answer to a request never changes, with its latest answers at hand in their encoded form.
 * Failures are not remembered: what is not there now may be there later.
 *
 * @param maxBytes most bytes that all of it takes
 */
export function rememberAnswers(method: Method, maxBytes: number): Method {
  const answers = new ByteCache(maxBytes);
  return {
    ...method,
    run(message, context) {
      const known = answers.get(message);
      if (known !== undefined) return known;
      const remember = (answer: Uint8Array): Uint8Array => {
        answers.set(message, answer);
        return answer;
      };
      const answer = method.run(message, context);
      return answer instanceof Promise ? answer.then(remember) : remember(answer);
    },
  };
}
