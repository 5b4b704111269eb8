import { getTextEncoding } from '@bufbuild/protobuf/wire';

/**
 * Returns the text itself. Otherwise the encoder would replace a lone surrogate by U+FFFD, and a number by its digits,
 * and so send another text than the given one.
 *
 * @throws RangeError when it is not text, or UTF-8 cannot encode it
 */
export function unicodeText(field: string, text: unknown): string {
  if (typeof text === 'string' && getTextEncoding().checkUtf8(text)) return text;
  const shown = typeof text === 'string' ? JSON.stringify(text.slice(0, 128)) : typeof text;
  throw new RangeError(`${field} must be Unicode text without lone surrogates, not ${shown}.`);
}
