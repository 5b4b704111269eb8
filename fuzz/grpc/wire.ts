/** The wire types of protocol buffers, of which 6 and 7 do not exist. */
export const VARINT = 0;
export const LENGTH = 2;
const HIGHEST_VARINT_BYTE = 0x80;

/** A number in base 128, seven bits a byte. @param overlong bytes that add nothing to it */
export function varint(value: number, overlong = 0): Buffer {
  const bytes: number[] = [];
  let rest = BigInt(value);
  for (; rest >= 128n; rest >>= 7n) bytes.push(Number(rest & 127n) | HIGHEST_VARINT_BYTE);
  bytes.push(Number(rest));
  for (let more = overlong; more > 0; more--) {
    bytes.push((bytes.pop() ?? 0) | HIGHEST_VARINT_BYTE, 0);
  }
  return Buffer.from(bytes);
}

/** The key of a field. */
export function key(field: number, wireType: number): Buffer {
  return varint(field * 8 + wireType);
}

/** A field of bytes behind their length. @param claimed the length that it claims */
export function bytesField(field: number, bytes: Uint8Array, claimed = bytes.length): Buffer {
  return Buffer.concat([key(field, LENGTH), varint(claimed), bytes]);
}
