/** Frame types and flags of RFC 9113, section 6, as far as these programs need them. */
export const DATA = 0x0;
export const HEADERS = 0x1;
export const RST_STREAM = 0x3;
export const SETTINGS = 0x4;
export const PING = 0x6;
export const GOAWAY = 0x7;
export const WINDOW_UPDATE = 0x8;
export const END_STREAM = 0x1;
export const ACK = 0x1;
export const END_HEADERS = 0x4;

/** Settings of RFC 9113, section 6.5.2. */
export const HEADER_TABLE_SIZE = 0x1;
export const MAX_CONCURRENT_STREAMS = 0x3;
export const INITIAL_WINDOW_SIZE = 0x4;

/** The first bytes of a client. */
export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
/** A connection's window until it is enlarged, in bytes. */
export const DEFAULT_WINDOW = 65_535;
const HEAD_BYTES = 9;

/** A frame as it comes or goes. */
export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

/** A frame's bytes. */
export function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(HEAD_BYTES + payload.length);
  bytes.writeUIntBE(payload.length, 0, 3);
  bytes.writeUInt8(type, 3);
  bytes.writeUInt8(flags, 4);
  bytes.writeUInt32BE(stream, 5);
  payload.copy(bytes, HEAD_BYTES);
  return bytes;
}

/** A payload of one 32-bit number, which a window's increment or the reason of a reset is. */
export function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** The payload that sets these values. */
export function settings(values: Readonly<Record<number, number>>): Buffer {
  return Buffer.concat(
    Object.entries(values).map(([id, value]) => {
      const bytes = Buffer.alloc(6);
      bytes.writeUInt16BE(Number(id), 0);
      bytes.writeUInt32BE(value, 2);
      return bytes;
    }),
  );
}

/** The values that a payload sets. */
export function settingsIn(payload: Buffer): Map<number, number> {
  const values = new Map<number, number>();
  for (let at = 0; at + 6 <= payload.length; at += 6)
    values.set(payload.readUInt16BE(at), payload.readUInt32BE(at + 2));
  return values;
}

/** Cuts what is received into frames. */
export class FrameReader {
  #rest: Buffer = Buffer.alloc(0);

  read(chunk: Buffer): Frame[] {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const frames: Frame[] = [];
    let at = 0;
    while (bytes.length - at >= HEAD_BYTES) {
      const end = at + HEAD_BYTES + bytes.readUIntBE(at, 3);
      if (bytes.length < end) break;
      frames.push({
        type: bytes.readUInt8(at + 3),
        flags: bytes.readUInt8(at + 4),
        stream: bytes.readUInt32BE(at + 5) & 0x7fffffff,
        payload: bytes.subarray(at + HEAD_BYTES, end),
      });
      at = end;
    }
    this.#rest = bytes.subarray(at);
    return frames;
  }
}
