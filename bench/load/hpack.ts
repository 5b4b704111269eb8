/** A header field, with its name in lower case. */
export type Field = readonly [name: string, value: string];

/** Length of HPACK's static table (RFC 7541, appendix A); the indices of the dynamic table follow. */
const STATIC_LENGTH = 61;
const INDEXED = 0x80;
const LITERAL_INDEXED = 0x40;

/** A header block that adds every field to the receiver's dynamic table (RFC 7541, section 6.2.1). */
export function firstBlock(fields: readonly Field[]): Buffer {
  return Buffer.concat(
    fields.map(([name, value]) =>
      Buffer.concat([Buffer.from([LITERAL_INDEXED]), literal(name), literal(value)]),
    ),
  );
}

/** The block for the same fields once they are in the table: one index byte each. The newest entry has the lowest index. */
export function repeatedBlock(fields: readonly Field[]): Buffer {
  return Buffer.from(fields.map((_, i) => INDEXED | (STATIC_LENGTH + fields.length - i)));
}

/** A string literal without Huffman coding (RFC 7541, sections 5.1 and 5.2). */
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
