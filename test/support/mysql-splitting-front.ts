import { onTestFinished } from 'vitest';
import { eachPacket, isQuery, textOf, withText } from './mysql-packets.js';
import { startTcpFront } from './tcp-front.js';

/**
 * Starts a balancer that splits reads and writes, as ProxySQL and MySQL Router do: SELECT statements outside a
 * transaction go to the reader, all others to the writer. It is closed when the test ends.
 *
 * @param targetPort the server of both, which are two databases
 * @param reader the name of the reader's database; the writer's is the database in the client's URL
 * @returns the port of the balancer
 */
export async function startMysqlSplittingFront(targetPort: number, reader: string): Promise<number> {
  const front = await startTcpFront(targetPort, (client, server) => {
    let inTransaction = false;
    const toServer = eachPacket((packet) => {
      if (!isQuery(packet)) return true;
      const text = textOf(packet);
      if (/^(?:begin|commit|rollback)/i.test(text)) inTransaction = /^begin/i.test(text);
      if (inTransaction || !/^select/i.test(text)) return true;
      return withText(packet, text.replace(/from `?routes`?/g, `from \`${reader}\`.routes`));
    });
    client.pipe(toServer).pipe(server);
    server.pipe(client);
  });
  onTestFinished(() => front.close());
  return front.port;
}
