// One group for each alphabet. Groups of four, such as `(?:[…]{4})*`, would need memory for each repetition.
const BASE64 = /^(?:[A-Za-z0-9+/]*|[A-Za-z0-9_-]*)={0,2}$/;

/** The bytes of base64 by RFC 4648 4 or 5, whose padding may be missing; undefined for other text. */
export function base64Bytes(text: string): Uint8Array | undefined {
  if (!BASE64.test(text)) return undefined;
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  const rest = (text.length - padding) % 4;
  const isWhole = rest !== 1 && (padding === 0 || rest + padding === 4);
  // Node's base64 takes a hundredth of the time of protobuf's, and reads both alphabets.
  return isWhole ? Buffer.from(text, 'base64') : undefined;
}
