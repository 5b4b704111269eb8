import { getTextEncoding } from '@bufbuild/protobuf/wire';

/**
 * Returns the text unchanged. Without this check, the encoder would replace a lone surrogate with U+FFFD, and a number
 * with its digits, and so send a different text.
 *
 * @throws RangeError when the value is not text, or UTF-8 cannot encode it
 */
export function unicodeText(field: string, text: unknown): string {
  if (typeof text === 'string' && getTextEncoding().checkUtf8(text)) return text;
  const shown = typeof text === 'string' ? JSON.stringify(text.slice(0, 128)) : typeof text;
  throw new RangeError(`${field} must be Unicode text without lone surrogates, not ${shown}.`);
}
