/** A message of gRPC over HTTP/2 begins with a flag and its length in four bytes. */
const PREFIX_BYTES = 5;
const LENGTH_AT = 1;
const NO_BYTES = Buffer.alloc(0);

/** Cuts a stream into its messages, each with its prefix. The pieces of a message are copied together as they come. */
export class WholeMessages {
  /** The size of the largest message, with its prefix. */
  readonly #most: number;
  readonly #take: (message: Buffer) => void;
  /** The beginning of a message; what lies beyond `#received` is still to come. */
  #begun: Buffer = NO_BYTES;
  #received = 0;
  #tooLarge = false;

  /**
   * @param maxBytes the largest message; of a larger one, `take` gets only the prefix, and nothing after it
   * @param take gets each message
   */
  constructor(maxBytes: number, take: (message: Buffer) => void) {
    this.#most = PREFIX_BYTES + maxBytes;
    this.#take = take;
  }

  add(chunk: Buffer): void {
    for (let at = 0; at < chunk.length && !this.#tooLarge;) {
      const left = chunk.length - at;
      const size = this.#received === 0 && left >= PREFIX_BYTES ? sizeOf(chunk, at) : Infinity;
      if (size <= left && size <= this.#most) {
        this.#take(size === chunk.length ? chunk : chunk.subarray(at, at + size));
        at += size;
      } else {
        at += this.#append(chunk, at);
      }
    }
  }

  /** Appends as much as belongs to the message that has begun, or to its prefix, and returns how much that was. */
  #append(chunk: Buffer, at: number): number {
    const size = this.#received < PREFIX_BYTES ? PREFIX_BYTES : sizeOf(this.#begun, 0);
    const bytes = Math.min(size - this.#received, chunk.length - at);
    const received = this.#received + bytes;
    if (received > this.#begun.length) this.#grow(Math.min(size, Math.max(received, 2 * this.#received)));
    chunk.copy(this.#begun, this.#received, at, at + bytes);
    this.#received = received;
    if (received >= PREFIX_BYTES) this.#takeIfWhole();
    return bytes;
  }

  #takeIfWhole(): void {
    const size = sizeOf(this.#begun, 0);
    this.#tooLarge = size > this.#most;
    if (this.#received < size && !this.#tooLarge) return;
    const message = this.#begun;
    this.#begun = NO_BYTES;
    this.#received = 0;
    this.#take(message);
  }

  #grow(capacity: number): void {
    // Not of Node's pool, of which each piece keeps the whole.
    const larger = Buffer.allocUnsafeSlow(capacity);
    this.#begun.copy(larger, 0, 0, this.#received);
    this.#begun = larger;
  }
}

/** The size of a message with its prefix, which begins here. */
function sizeOf(bytes: Buffer, at: number): number {
  return PREFIX_BYTES + bytes.readUInt32BE(at + LENGTH_AT);
}
