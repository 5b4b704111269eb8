import { randomBytes } from 'node:crypto';
import {
  type DescField,
  type DescMessage,
  fromBinary,
  type Message,
  type Registry,
  ScalarType,
  toBinary,
} from '@bufbuild/protobuf';
import { reflect, type ReflectMessage } from '@bufbuild/protobuf/reflect';
import type { Any } from '@bufbuild/protobuf/wkt';
import { isAny, typeOfUrl } from '../fields/any-content.js';

/** The minimum size of a value that is taken out, in bytes. */
const LARGE = 1_024;
/** The length of the number in a mark, in base64: it has three bytes. */
const NUMBER_LENGTH = 4;

/** The values that marks stand for. */
interface TakenValues {
  /** The prefix of all marks: nine bytes, which are twelve characters of base64 without padding. */
  readonly prefix: Buffer;
  /** The base64 of each value, by the base64 of the number in its mark. */
  readonly base64: Map<string, string>;
}

/**
 * Encodes large `bytes` values with Node's base64, which takes a hundredth of the time of protobuf's. Each value in the
 * message is replaced by a mark that nobody can guess, and each mark in the JSON text by the base64.
 */
export class LargeBytes {
  readonly #registry: Registry;
  /**
   * The values that were taken out. Created on demand, since most replies have none and it would take longer than all
   * else.
   */
  #taken: TakenValues | undefined;

  /** @param message its large values are replaced by marks */
  constructor(registry: Registry, schema: DescMessage, message: Message) {
    this.#registry = registry;
    if (holdsBytes(schema)) this.#takeFrom(reflect(schema, message));
  }

  /**
   * The JSON text of the message with all its values; as UTF-8 if any was large, since hashing a string takes longer.
   */
  restoredIn(text: string): string | Uint8Array {
    if (this.#taken === undefined) return text;
    const { prefix, base64 } = this.#taken;
    const [first, ...others] = text.split(prefix.toString('base64'));
    const whole = others.map(
      (each) => `${base64.get(each.slice(0, NUMBER_LENGTH))}${each.slice(NUMBER_LENGTH)}`,
    );
    return Buffer.from([first, ...whole].join(''));
  }

  #takeFrom(message: ReflectMessage): void {
    if (isAny(message.desc)) {
      this.#takeFromContent(message.message as Any);
      return;
    }
    for (const field of message.fields) {
      if (!fieldHoldsBytes(field, holdsBytes) || !message.isSet(field)) continue;
      if (field.fieldKind === 'list') {
        const list = message.get(field);
        for (const [index, item] of list.entries()) list.set(index, this.#marked(item));
      } else if (field.fieldKind === 'map') {
        const map = message.get(field);
        for (const [key, value] of map) map.set(key, this.#marked(value));
      } else message.set(field, this.#marked(message.get(field)));
    }
  }

  #takeFromContent(any: Any): void {
    const type = typeOfUrl(this.#registry, any.typeUrl);
    if (any.value.length < LARGE || type === undefined || !holdsBytes(type)) return;
    const content = fromBinary(type, any.value);
    this.#takeFrom(reflect(type, content));
    any.value = toBinary(type, content);
  }

  #marked(value: unknown): unknown {
    if (!(value instanceof Uint8Array)) {
      this.#takeFrom(value as ReflectMessage);
      return value;
    }
    if (value.length < LARGE) return value;
    const number = Buffer.alloc(3);
    this.#taken ??= { prefix: randomBytes(9), base64: new Map() };
    const { prefix, base64 } = this.#taken;
    number.writeUIntBE(base64.size, 0, 3);
    base64.set(number.toString('base64'), base64Of(value));
    return Buffer.concat([prefix, number]);
  }
}

/** @returns the base64, without a copy of the bytes */
function base64Of({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('base64');
}

const known = new WeakMap<DescMessage, boolean>();

/** Whether a message, or a message in it, has a field of bytes, as an Any does. */
function holdsBytes(message: DescMessage): boolean {
  let holds = known.get(message);
  if (holds === undefined) {
    holds = searched(message, new Set());
    known.set(message, holds);
  }
  return holds;
}

/** @param seen the messages that are already searched, since a message may contain itself. */
function searched(message: DescMessage, seen: Set<DescMessage>): boolean {
  if (seen.has(message)) return false;
  seen.add(message);
  return message.fields.some((field) => fieldHoldsBytes(field, (inner) => searched(inner, seen)));
}

function fieldHoldsBytes(field: DescField, search: (message: DescMessage) => boolean): boolean {
  return field.message === undefined ? field.scalar === ScalarType.BYTES : search(field.message);
}
