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
  throw new RangeError(`${field} must be Unicode text without lone surrogates, not ${shown(text)}.`);
}

/** A value of a caller for a message: texts in quotation marks and cut, objects by their type only. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 128));
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object' && value !== null) return 'an object';
  return typeof value === 'function' ? 'a function' : String(value);
}

/** Whether a value is an object with properties to read. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
