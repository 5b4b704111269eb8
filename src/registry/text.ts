/** The number of Unicode code points in a text, which every length in the contract counts. */
export function countCodePoints(text: string): number {
  return Array.from(text).length;
}

/**
 * A text in the form that messages show: in quotes, invisible characters escaped, cut after 40 code points.
 */
export function quote(text: string): string {
  const characters = Array.from(text.slice(0, 82));
  const shown = characters.length > 40 ? `${characters.slice(0, 40).join('')}…` : text;
  return JSON.stringify(shown).replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u${Number(character.codePointAt(0)).toString(16).padStart(4, '0')}`,
  );
}
