import { getTextEncoding } from '@bufbuild/protobuf/wire';

/**
 * The text itself. The encoder would replace a lone surrogate by U+FFFD, and so store another text than the given one.
 *
 * @throws RangeError when UTF-8 cannot express it
 */
export function wellFormed(field: string, text: string): string {
  if (!getTextEncoding().checkUtf8(text)) {
    throw new RangeError(
      `${field} must be Unicode text, not ${JSON.stringify(text.slice(0, 128))}, which has half of a character.`,
    );
  }
  return text;
}
