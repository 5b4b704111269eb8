import { readFileSync } from 'node:fs';

/**
 * Reads a value of one kind.
 *
 * @throws Error whose message ends a sentence that begins with the setting's name, `must be …; got ….`, and holds no secret
 */
export type Kind<Value> = (text: string) => Value;

/** The most characters of a value shown in a message. */
const SHOWN_MAX = 128;

/**
 * The error of a value that it shows, which must not be secret.
 *
 * @param allowed the middle of a sentence: `must be …`
 */
export function unusableValue(text: string, allowed: string): Error {
  const shown = text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX - 1)}…` : text;
  return new Error(`${allowed}; got ${JSON.stringify(shown)}.`);
}

export const anyText: Kind<string> = (text) => text;

/** One of these words. */
export function oneOf<const Value extends string>(...values: readonly Value[]): Kind<Value> {
  return (text) => {
    const value = values.find((candidate) => candidate === text);
    if (value === undefined) throw unusableValue(text, `must be one of ${values.join(', ')}`);
    return value;
  };
}

/** Whether the word is `on`, not `off`. */
export const onOff: Kind<boolean> = (text) => oneOf('on', 'off')(text) === 'on';

/** A whole number in decimal digits. */
export function integer(min: number, max: number): Kind<number> {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw unusableValue(text, `must be a whole number from ${min} to ${max}`);
  };
}

/** A text of this form. */
export function textLike(form: RegExp, allowed: string): Kind<string> {
  return (text) => {
    if (form.test(text)) return text;
    throw unusableValue(text, allowed);
  };
}

/** The members of a text that are separated by commas, without the white space around them. */
export function membersOf(text: string): string[] {
  return text.split(',').map((member) => member.trim());
}

/** A list separated by commas. The message shows those that do not fit. */
export function listOf(fits: (member: string) => boolean, allowed: string): Kind<readonly string[]> {
  return (text) => {
    const members = membersOf(text);
    const wrong = members.filter((member) => !fits(member));
    if (wrong.length > 0) throw unusableValue(wrong.join(','), allowed);
    return members;
  };
}

/** The content of the file with this name. */
export const contentOf: Kind<Buffer> = (name) => {
  try {
    return readFileSync(name);
  } catch {
    // The file name is not shown: the secret itself may have been set instead.
    throw new Error('must name a readable file; got one that cannot be read.');
  }
};

/** An http or https URL, which is not shown: it may hold a password. */
export function webUrl(whose: string): Kind<string> {
  return (text) => {
    if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text;
    throw new Error(`must be ${whose}; got another form.`);
  };
}

/** The name of a file that can be read now. */
export const readableFile: Kind<string> = (name) => {
  contentOf(name);
  return name;
};

/** The name of a file whose text, without the white space around it, is a value of this kind. */
export function inFile<Value>(kind: Kind<Value>): Kind<Value> {
  return (name) => {
    const content = contentOf(name);
    try {
      return kind(content.toString().trim());
    } catch (error) {
      throw new Error(`names a file whose text ${(error as Error).message}`, { cause: error });
    }
  };
}
