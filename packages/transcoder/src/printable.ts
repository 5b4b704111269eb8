/** Control characters, invisible ones, such as those that change the direction of text, and lone surrogates. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/**
 * A text in one line that a terminal shows as it is, whoever wrote it: each character that would do anything else becomes
 * its escape, such as `\u{1b}`.
 */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => `\\u{${Number(character.codePointAt(0)).toString(16)}}`);
}
