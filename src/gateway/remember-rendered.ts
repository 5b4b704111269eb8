import { hash } from 'node:crypto';
import { ByteCache } from '../runtime/byte-cache.js';

/** The JSON of a response message in binary form, as one binding shows it. */
export type Render = (message: Uint8Array) => string;

/**
 * Keeps what was rendered latest, by the SHA-256 of the message.
 *
 * @param maxBytes most bytes that all of it takes.
 */
export function rememberRendered(render: Render, maxBytes: number): Render {
  const bodies = new ByteCache(maxBytes);
  return (message) => {
    const key = Buffer.from(hash('sha256', message, 'binary'), 'binary');
    const known = bodies.get(key);
    if (known !== undefined) return known.toString();
    const body = render(message);
    bodies.set(key, Buffer.from(body));
    return body;
  };
}
