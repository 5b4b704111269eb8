import { Transform } from 'node:stream';

/** The length of the header of a packet, in bytes: the length of the rest in three, then the number in the exchange. */
export const HEADER_BYTES = 4;
export const SEQUENCE_AT = 3;

/** The command COM_QUERY, which begins an exchange. */
const QUERY = 0x03;

/** Whether a client's packet holds a statement. */
export function isQuery(packet: Buffer): boolean {
  return packet.readUInt8(SEQUENCE_AT) === 0 && packet.readUInt8(HEADER_BYTES) === QUERY;
}

/** Where the text of a statement begins: MySQL 8 and later have the number of its attributes, none, and of their sets before. */
function textStart(query: Buffer): number {
  const start = HEADER_BYTES + 1;
  return query[start] === 0 && query[start + 1] === 1 ? start + 2 : start;
}

/** The text of a statement, a character for each byte. */
export function textOf(query: Buffer): string {
  return query.toString('latin1', textStart(query));
}

/** The same packet with another text, a character for each byte. */
export function withText(query: Buffer, text: string): Buffer {
  const packet = Buffer.concat([query.subarray(0, textStart(query)), Buffer.from(text, 'latin1')]);
  packet.writeUIntLE(packet.length - HEADER_BYTES, 0, 3);
  return packet;
}

/**
 * Shows each whole packet to a function, which may change it in its place, and passes it on if that says so; another
 * packet passes in its place.
 */
export function eachPacket(passing: (packet: Buffer) => boolean | Buffer): Transform {
  let rest = Buffer.alloc(0);
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      rest = Buffer.concat([rest, chunk]);
      while (rest.length >= HEADER_BYTES && rest.length >= HEADER_BYTES + rest.readUIntLE(0, 3)) {
        const packet = rest.subarray(0, HEADER_BYTES + rest.readUIntLE(0, 3));
        rest = rest.subarray(packet.length);
        const passed = passing(packet);
        if (passed !== false) this.push(passed === true ? packet : passed);
      }
      done();
    },
  });
}

/** The SQLSTATE of errors, as servers have them; those of all others say nothing. */
const SQL_STATES: Readonly<Record<number, string>> = {
  1047: '08S01',
  1053: '08S01',
  1062: '23000',
  1213: '40001',
  1317: '70100',
  1406: '22001',
  1792: '25006',
  1927: '70100',
  1969: '70100',
  3101: '40000',
};

/**
 * The packet by which a server refuses a statement, or a connection.
 *
 * @param sequence its number in the exchange: 1 after a statement, 0 in place of a greeting
 */
export function errorPacket(errno: number, text = 'an error of the test', sequence = 1): Buffer {
  const body = Buffer.from(`???#${SQL_STATES[errno] ?? 'HY000'}${text}`);
  body.writeUInt8(0xff, 0);
  body.writeUInt16LE(errno, 1);
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUIntLE(body.length, 0, 3);
  header.writeUInt8(sequence, SEQUENCE_AT);
  return Buffer.concat([header, body]);
}
