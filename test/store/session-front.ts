import { onTestFinished } from 'vitest';
import {
  eachPacket,
  INSERT_ID_AT,
  isError,
  isOk,
  isQuery,
  textOf,
  withText,
} from '../support/mysql-packets.js';
import { startTcpFront } from '../support/tcp-front.js';

/** What a proxy, or the server itself, does to sessions. Its statements return no rows; a wrong one ends the client. */
interface SessionFrontOptions {
  /** Executed before the first statement of each connection, as `init_connect` is. */
  readonly atLogin?: readonly string[];
  /** Executed before each `INSERT`, as if a multiplexing proxy had taken a server with another session. */
  readonly beforeInsert?: readonly string[];
  /** Executed in place of each `SET` of a client. Default: the `SET`. */
  readonly insteadOfSet?: string;
  /** Whether answers lose the id of the last insert, as behind a proxy that answers by itself. */
  readonly dropsInsertIds?: boolean;
}

/** A front before a server, which changes the sessions of its clients. */
interface SessionFront {
  readonly port: number;
  /** How many clients are connected. */
  clients(): number;
}

/** Starts a front on loopback. It is closed when the test ends. */
export async function startSessionFront(
  targetPort: number,
  { atLogin = [], beforeInsert = [], insteadOfSet, dropsInsertIds = false }: SessionFrontOptions,
): Promise<SessionFront> {
  let clients = 0;
  const front = await startTcpFront(targetPort, (client, server) => {
    clients++;
    client.on('close', () => clients--);
    let fresh = true;
    /** The statements that the server still has to execute before the client gets an answer. */
    let waiting: Buffer[] = [];
    const toServer = eachPacket((packet) => {
      if (!isQuery(packet)) return true;
      const text = textOf(packet);
      const own = text.startsWith('SET ') && insteadOfSet !== undefined ? insteadOfSet : text;
      const before = [
        ...(fresh ? atLogin : []),
        ...(text.startsWith('insert into routes') ? beforeInsert : []),
      ];
      fresh = false;
      const [first, ...others] = [...before, own].map((statement) => withText(packet, statement));
      waiting = others;
      return first ?? true;
    });
    const toClient = eachPacket((packet) => {
      const next = waiting.shift();
      if (next === undefined) {
        if (dropsInsertIds && isOk(packet)) packet.writeUInt8(0, INSERT_ID_AT);
        return true;
      }
      if (isError(packet)) client.destroy();
      server.write(next);
      return false;
    });
    client.pipe(toServer).pipe(server);
    server.pipe(toClient).pipe(client);
  });
  onTestFinished(() => front.close());
  return { port: front.port, clients: () => clients };
}
