import { connect, type Socket } from 'node:net';

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const SETTINGS = 0x4;
const HEADERS = 0x1;
const DATA = 0x0;
const END_STREAM = 0x1;
const END_HEADERS = 0x4;

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** A header field that is never indexed and not Huffman-coded (RFC 7541, section 6.2.3). */
function field([name, value]: readonly [string, string]): Buffer {
  return Buffer.concat([Buffer.from([0x10]), text(name), text(value)]);
}

/** A string literal (RFC 7541, sections 5.1 and 5.2). */
function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  if (bytes.length < 127) return Buffer.concat([Buffer.from([bytes.length]), bytes]);
  const rest = bytes.length - 127;
  return Buffer.concat([Buffer.from([127, (rest & 127) | 128, rest >> 7]), bytes]);
}

/** The fields with which every gRPC call begins (gRPC over HTTP/2, Requests). */
export function grpcHead(path: string): readonly (readonly [string, string])[] {
  return [
    [':method', 'POST'],
    [':scheme', 'http'],
    [':path', path],
    [':authority', 'localhost'],
    ['content-type', 'application/grpc'],
    ['te', 'trailers'],
  ];
}

/**
 * Sends one request with header fields that no HTTP/2 library would send, such as a repeated one.
 *
 * @param body without one, the request stays open
 */
export function sendFields(
  address: string,
  fields: readonly (readonly [string, string])[],
  body: Buffer | undefined,
): Socket {
  const { hostname, port } = new URL(`http://${address}`);
  const block = Buffer.concat(fields.map(field));
  const socket = connect(Number(port), hostname);
  socket.write(
    Buffer.concat([PREFACE, frame(SETTINGS, 0, 0, Buffer.alloc(0)), frame(HEADERS, END_HEADERS, 1, block)]),
  );
  if (body !== undefined) socket.end(frame(DATA, END_STREAM, 1, body));
  return socket;
}

/**
 * Begins calls whose heads name one field again and again by its index in the dynamic table (RFC 7541, sections 6.1 and
 * 6.2.1): a few bytes for each time.
 */
export function sendRepeatedField(
  address: string,
  fields: readonly (readonly [string, string])[],
  repeated: readonly [string, string],
  { calls, times }: { readonly calls: number; readonly times: number },
): Socket {
  const { hostname, port } = new URL(`http://${address}`);
  const indexed = Buffer.alloc(times, 0x80 | 62);
  const heads = Array.from({ length: calls }, (_, call) => {
    const first = call === 0 ? [Buffer.from([0x40]), text(repeated[0]), text(repeated[1])] : [];
    return frame(
      HEADERS,
      END_HEADERS,
      1 + 2 * call,
      Buffer.concat([...fields.map(field), ...first, indexed]),
    );
  });
  const socket = connect(Number(port), hostname);
  socket.write(Buffer.concat([PREFACE, frame(SETTINGS, 0, 0, Buffer.alloc(0)), ...heads]));
  return socket;
}

/** The type of each frame in these bytes (RFC 9113, section 4.1). */
export function frameTypes(bytes: Buffer): number[] {
  const types: number[] = [];
  for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3))
    types.push(bytes.readUInt8(at + 3));
  return types;
}
