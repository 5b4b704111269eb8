import { Transform } from 'node:stream';

/** The length of the header of a packet, in bytes: the length of the rest in three, then the number in the exchange. */
export const HEADER_BYTES = 4;
export const SEQUENCE_AT = 3;

/** Shows each whole packet to a function, which may change it in its place, and passes it on if that says so. */
export function eachPacket(mayPass: (packet: Buffer) => boolean): Transform {
  let rest = Buffer.alloc(0);
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      rest = Buffer.concat([rest, chunk]);
      while (rest.length >= HEADER_BYTES && rest.length >= HEADER_BYTES + rest.readUIntLE(0, 3)) {
        const packet = rest.subarray(0, HEADER_BYTES + rest.readUIntLE(0, 3));
        rest = rest.subarray(packet.length);
        if (mayPass(packet)) this.push(packet);
      }
      done();
    },
  });
}

/**
 * The packet by which a server refuses a statement, or a connection.
 *
 * @param sequence its number in the exchange: 1 after a statement, 0 in place of a greeting
 */
export function errorPacket(errno: number, text = 'an error of the test', sequence = 1): Buffer {
  const body = Buffer.from(`???#HY000${text}`);
  body.writeUInt8(0xff, 0);
  body.writeUInt16LE(errno, 1);
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUIntLE(body.length, 0, 3);
  header.writeUInt8(sequence, SEQUENCE_AT);
  return Buffer.concat([header, body]);
}
