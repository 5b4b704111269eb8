import { DatabaseServer } from '../../faults/rig/database-server.js';
import { freePort } from '../../support/free-port.js';
import { prepareServer } from '../../support/mysql-local.js';

/** A primary with asynchronous replicas. */
export interface Replication {
  readonly primary: DatabaseServer;
  readonly replicas: readonly DatabaseServer[];
  close(): Promise<void>;
}

/** Starts them. @param program MariaDB's server @param delays how late each replica is, in seconds */
export async function startReplication(program: string, delays: readonly number[]): Promise<Replication> {
  const servers: DatabaseServer[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.close()));
  };
  const start = async (options: readonly string[]): Promise<{ server: DatabaseServer; login: URL }> => {
    const launch = await prepareServer(program, await freePort());
    const server = new DatabaseServer(launch);
    servers.push(server);
    await server.initialize();
    await server.start([`--server-id=${servers.length}`, ...options]);
    return { server, login: new URL(launch.url) };
  };
  try {
    const { server: primary, login } = await start([
      '--log-bin=binlog',
      '--binlog-format=ROW',
      '--sync-binlog=1',
    ]);
    // The replicas have made these accounts themselves.
    await primary.query('reset master');
    const replicas: DatabaseServer[] = [];
    for (const delay of delays) {
      const { server } = await start(['--read-only']);
      await server.query(
        `change master to master_host = '${login.hostname}', master_port = ${login.port}, master_user = '${login.username}', master_password = '${login.password}', master_use_gtid = slave_pos, master_delay = ${delay}`,
      );
      await server.query('start slave');
      replicas.push(server);
    }
    return { primary, replicas, close };
  } catch (error) {
    await close();
    throw error;
  }
}
