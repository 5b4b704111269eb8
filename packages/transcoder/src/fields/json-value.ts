/**
 * JSON as a client sent it: what `JSON.parse` makes of it, except where that would change or hide something. There, a
 * `LongNumber` or a `TextFlaw` stands in place of the value.
 */
export type SentJson = null | boolean | number | string | SentJson[] | SentObject | LongNumber | TextFlaw;

/** The members of an object that a client sent. */
export interface SentObject {
  [key: string]: SentJson;
}

/** A number whose text may say more than a JavaScript number holds: many digits, or an exponent. */
export interface LongNumber {
  /** The number, as it was sent. */
  readonly text: string;
}

/** In place of a value that no field takes, because of its text: a key is repeated, or a character incomplete. */
export interface TextFlaw {
  /** What is allowed, then what came, in a sentence. */
  readonly description: string;
}

// Classes, since an object that a client sends may have any members.
class SentNumber implements LongNumber {
  constructor(readonly text: string) {}
}

class SentFlaw implements TextFlaw {
  constructor(readonly description: string) {}
}

export function longNumber(text: string): LongNumber {
  return new SentNumber(text);
}

export function textFlaw(description: string): TextFlaw {
  return new SentFlaw(description);
}

export function isLongNumber(json: SentJson | undefined): json is LongNumber {
  return json instanceof SentNumber;
}

export function isTextFlaw(json: SentJson | undefined): json is TextFlaw {
  return json instanceof SentFlaw;
}

/** Whether a JSON value is an object. */
export function isObject(json: SentJson | undefined): json is SentObject {
  return (
    typeof json === 'object' &&
    json !== null &&
    !Array.isArray(json) &&
    !isLongNumber(json) &&
    !isTextFlaw(json)
  );
}

/** An own member of a JSON object; undefined for inherited names such as `constructor`. */
export function memberOf<Value>(object: Readonly<Record<string, Value>>, key: string): Value | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Sets an own member of an object, even `__proto__`, to which an assignment would give another meaning. */
export function setMember<Value>(object: Record<string, Value>, key: string, value: Value): void {
  if (key !== '__proto__') object[key] = value;
  else Object.defineProperty(object, key, { value, configurable: true, enumerable: true, writable: true });
}
