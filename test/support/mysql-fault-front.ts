import { onTestFinished } from 'vitest';
import { eachPacket, errorPacket, isQuery, textOf } from './mysql-packets.js';
import { startTcpFront } from './tcp-front.js';

/** What goes wrong with a statement. */
export interface Fault {
  /** Whether the server still executes the statement; if twice, the client gets its second answer. */
  readonly done: boolean | 'twice';
  /** The number of the error to return, or `silence` for no response; default: the connection is lost. */
  readonly answer?: number | 'silence';
}

/** A statement on the table `routes`, or the start or end of a transaction. */
export interface Statement {
  readonly kind: 'BEGIN' | 'COMMIT' | 'ROLLBACK' | 'INSERT' | 'SELECT';
  /** Its text, one character per byte. */
  readonly text: string;
  /** The number of its connection, from 1. */
  readonly connection: number;
}

/** A balancer or server with faults that a test injects, in front of a real server. */
export interface MysqlFaultFront {
  readonly port: number;
  readonly statements: readonly Statement[];
  /** Refuses further connections. */
  refuse(): void;
}

/**
 * Starts a front on loopback. It is closed when the test ends.
 *
 * @param faultOf returns the fault of each statement; undefined lets the statement through
 */
export async function startMysqlFaultFront(
  targetPort: number,
  faultOf: (statement: Statement) => Fault | undefined,
): Promise<MysqlFaultFront> {
  const statements: Statement[] = [];
  let connections = 0;
  const front = await startTcpFront(targetPort, (client, server) => {
    const connection = ++connections;
    const fail = ({ answer }: Fault): void => {
      if (answer === undefined) client.destroy();
      else if (answer !== 'silence') client.write(errorPacket(answer));
    };
    /** The fault of the statement that the server executes. */
    let hidden: Fault | undefined;
    const toServer = eachPacket((packet) => {
      const text = isQuery(packet) ? textOf(packet) : '';
      const kind = kindOf(text);
      if (kind === undefined) return true;
      const statement = { kind, text, connection };
      statements.push(statement);
      const fault = faultOf(statement);
      if (fault === undefined) return true;
      if (fault.done === false) fail(fault);
      else hidden = fault;
      return fault.done === 'twice' ? Buffer.concat([packet, packet]) : fault.done;
    });
    const toClient = eachPacket(() => {
      if (hidden === undefined) return true;
      if (hidden.done === true) fail(hidden);
      hidden = undefined;
      return false;
    });
    client.pipe(toServer).pipe(server);
    server.pipe(toClient).pipe(client);
  });
  onTestFinished(() => front.close());
  return {
    port: front.port,
    statements,
    refuse: () => {
      front.refuse();
    },
  };
}

function kindOf(text: string): Statement['kind'] | undefined {
  const control = /^(?:begin|commit|rollback)/i.exec(text)?.[0].toUpperCase();
  if (control !== undefined) return control as Statement['kind'];
  if (/insert into .?routes/.test(text)) return 'INSERT';
  return /select .* from .?routes/.test(text) ? 'SELECT' : undefined;
}
