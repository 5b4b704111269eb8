import { getTextEncoding } from '@bufbuild/protobuf/wire';

/**
 * Returns the text unchanged. Without this check, the encoder would replace a lone surrogate with U+FFFD, and a number
 * with its digits, and so send a different text. Absent text is empty, as in the contract: the service then says what
 * is missing.
 *
 * @throws RangeError when the value is not text, or UTF-8 cannot encode it
 */
export function unicodeText(field: string, text: unknown): string {
  if (text === undefined) return '';
  if (typeof text === 'string' && getTextEncoding().checkUtf8(text)) return text;
  throw new RangeError(`${field} must be Unicode text without lone surrogates, not ${describeValue(text)}.`);
}

/** A value as a message shows it: texts in quotation marks and cut, objects by their type only. */
export function describeValue(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 128));
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object' && value !== null) return 'an object';
  return typeof value === 'function' ? 'a function' : String(value);
}

/** Whether a value is an object with properties to read. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Refuses a name that would otherwise be ignored, and with it a value that was meant to count.
 *
 * @param what the name is, such as `option`
 * @throws RangeError that names the unknown name, and the known name that it resembles or else all known names
 */
export function requireKnown(what: string, object: object, known: readonly string[]): void {
  for (const [name, value] of Object.entries(object)) {
    if (value === undefined || known.includes(name)) continue;

    const byDistance = known.toSorted((left, right) => distance(left, name) - distance(right, name));
    const [nearest = ''] = byDistance;
    const help =
      distance(nearest, name) > 2 ? `known are ${known.join(', ')}` : `the nearest is "${nearest}"`;
    throw new RangeError(`There is no ${what} ${describeValue(name)}; ${help}.`);
  }
}

/** How many letters only one of two names has. */
function distance(left: string, right: string): number {
  const ofLeft = left.toLowerCase();
  const ofRight = right.toLowerCase();
  const letters = Array.from(ofLeft + ofRight);
  return letters.filter((letter) => !ofLeft.includes(letter) || !ofRight.includes(letter)).length;
}
