/** A header field, its name in lower case. */
export type Field = readonly [name: string, value: string];

/** Length of HPACK's static table (RFC 7541, appendix A), after which the dynamic one begins. */
const STATIC_LENGTH = 61;
const INDEXED = 0x80;
const LITERAL_INDEXED = 0x40;

/** A header block that puts every field into the receiver's table (RFC 7541, section 6.2.1). */
export function firstBlock(fields: readonly Field[]): Buffer {
  return Buffer.concat(
    fields.map(([name, value]) =>
      Buffer.concat([Buffer.from([LITERAL_INDEXED]), literal(name), literal(value)]),
    ),
  );
}

/** The block for the same fields once they are in the table: a byte each, the newest entry first. */
export function repeatedBlock(fields: readonly Field[]): Buffer {
  return Buffer.from(fields.map((_, i) => INDEXED | (STATIC_LENGTH + fields.length - i)));
}

/** A string as it is, without Huffman code (RFC 7541, sections 5.1 and 5.2). */
export function literal(text: string): Buffer {
  const bytes = Buffer.from(text);
  const length: number[] = [];
  let rest = bytes.length - 127;
  if (rest < 0) length.push(bytes.length);
  else {
    length.push(127);
    for (; rest >= 128; rest >>= 7) length.push((rest & 127) | 128);
    length.push(rest);
  }
  return Buffer.concat([Buffer.from(length), bytes]);
}
