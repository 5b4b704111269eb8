import { Transform } from 'node:stream';

/** The length of a packet header, in bytes: three for the length of the payload, one for the sequence number. */
export const HEADER_BYTES = 4;
export const SEQUENCE_AT = 3;

/** Where the answer to a small `INSERT` has the id of the last insert, after one byte for the affected rows. */
export const INSERT_ID_AT = HEADER_BYTES + 2;

/** The first byte of a client's payload that has a statement: the command COM_QUERY, which starts an exchange. */
const QUERY = 0x03;
/** The first byte of a server's payload that says that something succeeded. */
const OK = 0x00;
/** The first byte of a server's payload that says that something failed. */
const ERROR = 0xff;

/** Whether a client's packet contains a statement. */
export function isQuery(packet: Buffer): boolean {
  return packet.readUInt8(SEQUENCE_AT) === 0 && packet.readUInt8(HEADER_BYTES) === QUERY;
}

/** Whether a server's packet rejects a statement or a connection. */
export function isError(packet: Buffer): boolean {
  return packet.readUInt8(HEADER_BYTES) === ERROR;
}

/** Whether a server's packet is the first of an answer, and says that a statement without rows succeeded. */
export function isOk(packet: Buffer): boolean {
  return packet.readUInt8(SEQUENCE_AT) === 1 && packet.readUInt8(HEADER_BYTES) === OK;
}

/** The offset of a statement's text. Since MySQL 8, the counts of parameters (0) and parameter sets (1) precede it. */
function textStart(query: Buffer): number {
  const start = HEADER_BYTES + 1;
  return query[start] === 0 && query[start + 1] === 1 ? start + 2 : start;
}

/** The text of a statement, one character per byte. */
export function textOf(query: Buffer): string {
  return query.toString('latin1', textStart(query));
}

/** The same packet with another text, one character per byte. */
export function withText(query: Buffer, text: string): Buffer {
  const packet = Buffer.concat([query.subarray(0, textStart(query)), Buffer.from(text, 'latin1')]);
  packet.writeUIntLE(packet.length - HEADER_BYTES, 0, 3);
  return packet;
}

/**
 * A stream that calls a function with each complete packet. The function may modify the packet in place. It returns
 * true to forward the packet, false to drop it, or a packet to forward instead.
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

/** The SQLSTATE of errors, as servers report them; all others have the general HY000. */
const SQL_STATES: Readonly<Record<number, string>> = {
  1047: '08S01', // unknown command, or a Galera node without its cluster
  1053: '08S01', // the server shuts down
  1062: '23000', // a duplicate entry
  1142: '42000', // a missing grant
  1146: '42S02', // a missing table
  1153: '08S01', // a packet that is too large
  1213: '40001', // a deadlock
  1227: '42000', // a missing privilege
  1317: '70100', // an interrupted query
  1406: '22001', // a value that is too long
  1792: '25006', // a read-only transaction
  1927: '70100', // a killed connection
  1969: '70100', // the time limit of a statement
  3101: '40000', // a commit that a group rolled back
};

/**
 * The packet with which a server rejects a statement or a connection.
 *
 * @param sequence its sequence number: 1 after a statement, 0 in place of a greeting
 */
export function errorPacket(errno: number, text = 'an error of the test', sequence = 1): Buffer {
  // Three bytes for the kind of the packet and the number of the error, and then the SQLSTATE.
  const body = Buffer.from(`???#${SQL_STATES[errno] ?? 'HY000'}${text}`);
  body.writeUInt8(ERROR, 0);
  body.writeUInt16LE(errno, 1);
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUIntLE(body.length, 0, 3);
  header.writeUInt8(sequence, SEQUENCE_AT);
  return Buffer.concat([header, body]);
}
