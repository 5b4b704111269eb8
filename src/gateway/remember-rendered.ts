import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { entityTag } from './entity-tag.js';

/** The JSON of a response message, as one binding shows it. */
export interface Rendered {
  readonly body: string;
  /** The entity tag of the body. */
  readonly tag: string;
}

/** Renders a response message in binary form. */
export type Render = (message: Uint8Array) => Rendered;

const TAG_LENGTH = entityTag('').length;
/** What an entry takes beside its text, in bytes: measured, and rounded up. */
const ENTRY_OVERHEAD = 176;

/**
 * Keeps what was rendered latest, by the SHA-256 of the message.
 *
 * @param maxBytes most bytes that all entries take together.
 */
export function rememberRendered(render: Render, maxBytes: number): Render {
  const texts = new LRUCache<string, string>({ maxSize: maxBytes, sizeCalculation: sizeOf });
  return (message) => {
    const key = hash('sha256', message, 'binary');
    const known = texts.get(key);
    if (known !== undefined) return { tag: known.slice(0, TAG_LENGTH), body: known.slice(TAG_LENGTH) };
    const rendered = render(message);
    // One string, made whole: the parts of which V8 puts strings together take half as much again.
    texts.set(key, Buffer.from(rendered.tag + rendered.body).toString());
    return rendered;
  };
}

/** V8 keeps a text in one byte for each character, or in two. */
function sizeOf(text: string): number {
  const narrow = Buffer.byteLength(text) === text.length;
  return (narrow ? 1 : 2) * text.length + ENTRY_OVERHEAD;
}
