import { connect, type Socket } from 'node:net';
import { type Field, firstBlock, literal } from '../../bench/load/hpack.js';

/** Frame types and flags (RFC 9113, section 6) that the tests use. */
export const DATA = 0x0;
export const HEADERS = 0x1;
export const RST_STREAM = 0x3;
export const SETTINGS = 0x4;
export const PING = 0x6;
export const GOAWAY = 0x7;
export const WINDOW_UPDATE = 0x8;
export const CONTINUATION = 0x9;
export const END_STREAM = 0x1;
export const ACK = 0x1;
export const END_HEADERS = 0x4;

/** Identifiers of settings (RFC 9113, section 6.5.2). */
export const HEADER_TABLE_SIZE = 0x1;
export const MAX_CONCURRENT_STREAMS = 0x3;
export const INITIAL_WINDOW_SIZE = 0x4;

/** Error codes (RFC 9113, section 7). */
export const REFUSED_STREAM = 0x7;
export const CANCEL = 0x8;

/** The first bytes that a client sends (RFC 9113, section 3.4). */
export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
/** The initial flow-control window of a connection, in bytes. */
export const DEFAULT_WINDOW = 65_535;
/** The largest flow-control window, in bytes (RFC 9113, section 6.9.1). */
export const MAX_WINDOW = 2 ** 31 - 1;
const HEAD_BYTES = 9;

/** A received frame, or one to send. */
export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

/** The bytes of a frame. */
export function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(HEAD_BYTES + payload.length);
  bytes.writeUIntBE(payload.length, 0, 3);
  bytes.writeUInt8(type, 3);
  bytes.writeUInt8(flags, 4);
  bytes.writeUInt32BE(stream, 5);
  payload.copy(bytes, HEAD_BYTES);
  return bytes;
}

/** A payload of one 32-bit number, such as a window increment or an error code. */
export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** The payload of a SETTINGS frame with these values, by identifier. */
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

/** The values in the payload of a SETTINGS frame, by identifier. */
export function settingsIn(payload: Buffer): Map<number, number> {
  const values = new Map<number, number>();
  for (let at = 0; at + 6 <= payload.length; at += 6)
    values.set(payload.readUInt16BE(at), payload.readUInt32BE(at + 2));
  return values;
}

/** Splits received bytes into frames. */
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

/** A connection to `host:port` with TCP_NODELAY. */
export function socketTo(target: string): Socket {
  const { hostname, port } = new URL(`http://${target}`);
  return connect(Number(port), hostname).setNoDelay();
}

/** A never-indexed header field without Huffman coding (RFC 7541, section 6.2.3). */
function field([name, value]: Field): Buffer {
  return Buffer.concat([Buffer.from([0x10]), literal(name), literal(value)]);
}

/** The header fields of every gRPC call (gRPC over HTTP/2, Requests). */
export function grpcHead(path: string, authority = 'localhost'): readonly Field[] {
  return [
    [':method', 'POST'],
    [':scheme', 'http'],
    [':path', path],
    [':authority', authority],
    ['content-type', 'application/grpc'],
    ['te', 'trailers'],
  ];
}

/**
 * Sends a request with header fields that no HTTP/2 library would send, such as a repeated one.
 *
 * @param body default: the request stays open
 */
export function sendFields(address: string, fields: readonly Field[], body?: Buffer): Socket {
  const block = Buffer.concat(fields.map(field));
  const socket = socketTo(address);
  socket.write(
    Buffer.concat([PREFACE, frame(SETTINGS, 0, 0, Buffer.alloc(0)), frame(HEADERS, END_HEADERS, 1, block)]),
  );
  if (body !== undefined) socket.end(frame(DATA, END_STREAM, 1, body));
  return socket;
}

/**
 * Starts calls whose headers repeat one field `times` times by its index in the dynamic table (RFC 7541, sections 6.1
 * and 6.2.1). Each repetition takes a single byte.
 */
export function sendRepeatedField(
  address: string,
  fields: readonly Field[],
  repeated: Field,
  { calls, times }: { readonly calls: number; readonly times: number },
): Socket {
  const indexed = Buffer.alloc(times, 0x80 | 62);
  const heads = Array.from({ length: calls }, (_, call) => {
    const first = call === 0 ? [firstBlock([repeated])] : [];
    const block = Buffer.concat([...fields.map(field), ...first, indexed]);
    return frame(HEADERS, END_HEADERS, 1 + 2 * call, block);
  });
  const socket = socketTo(address);
  socket.write(Buffer.concat([PREFACE, frame(SETTINGS, 0, 0, Buffer.alloc(0)), ...heads]));
  return socket;
}

/** The types of the complete frames in these bytes. */
export function frameTypes(bytes: Buffer): number[] {
  return new FrameReader().read(bytes).map(({ type }) => type);
}
