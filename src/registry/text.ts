/** The number of Unicode code points in a text, the unit of every length in the contract. */
export function countCodePoints(text: string): number {
  return Array.from(text).length;
}

/** Invisible characters, which could make one text look like another, and halves of surrogate pairs. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** A text with the code points of its invisible characters in their place, such as `\u{202e}`. */
export function escapeInvisible(text: string): string {
  return text.replace(INVISIBLE, (character) => `\\u{${Number(character.codePointAt(0)).toString(16)}}`);
}

/**
 * A text in the form for messages: in quotes, invisible characters, quotes and backslashes escaped, cut after 40 code
 * points.
 */
export function quote(text: string): string {
  const characters = Array.from(text.slice(0, 82));
  const shown = characters.length > 40 ? `${characters.slice(0, 40).join('')}…` : text;
  return `"${escapeInvisible(shown.replace(/["\\]/g, '\\$&'))}"`;
}
