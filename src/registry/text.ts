/** The number of Unicode code points in a text, the unit of every length in the contract. */
export function countCodePoints(text: string): number {
  return Array.from(text).length;
}

/** Invisible characters, which could make one text look like another, and lone surrogates. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Replaces each invisible character of a text with its code point, such as `\u{202e}`. */
export function escapeInvisible(text: string): string {
  return text.replace(INVISIBLE, (character) => `\\u{${Number(character.codePointAt(0)).toString(16)}}`);
}

/**
 * Quotes a text for a message: in quotation marks, cut after 40 code points, with invisible characters, quotation marks
 * and backslashes escaped.
 */
export function quote(text: string): string {
  const characters = Array.from(text.slice(0, 82));
  const shown = characters.length > 40 ? `${characters.slice(0, 40).join('')}…` : text;
  return `"${escapeInvisible(shown.replace(/["\\]/g, '\\$&'))}"`;
}
