import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { DatabaseServer } from '../../faults/rig/database-server.js';
import { throughPort } from '../../support/tcp-proxy.js';
import { freePort } from '../../support/free-port.js';
import type { GaleraPrograms } from '../../support/galera-programs.js';
import { type Launch, prepareServer } from '../../support/mysql-server.js';

const run = promisify(execFile);
const NODES = 3;
const LOG_MAX_BYTES = 67_108_864;
const RECOVERED = /WSREP: Recovered position: *(\S+)/;

/** The ports of a node: for clients, group communication, and incremental (IST) and full (SST) state transfers. */
interface NodePorts {
  readonly client: number;
  readonly group: number;
  readonly part: number;
  readonly whole: number;
}

/** A node of a Galera cluster. */
export class GaleraNode extends DatabaseServer {
  readonly #command: readonly string[];

  constructor(launch: Launch) {
    super(launch);
    this.#command = launch.commands[1] ?? [];
  }

  /** Restarts the node as the systemd unit of its package does: it first recovers the position of its data. */
  async rejoin(): Promise<void> {
    const [program = '', ...args] = this.#command;
    const { stderr } = await run(program, [...args, '--wsrep-recover'], { maxBuffer: LOG_MAX_BYTES });
    const [, position] = RECOVERED.exec(stderr) ?? [];
    if (position === undefined) throw new Error(`A node does not know its position: ${stderr.slice(-2_000)}`);
    await this.start([`--wsrep-start-position=${position}`]);
  }

  /** Whether the node reports itself as synced, which is what the health checks of load balancers query. */
  async isSynced(): Promise<boolean> {
    return (await this.#status()).get('wsrep_local_state_comment') === 'Synced';
  }

  /** The node's view of the cluster and its own state: `Primary, 3 nodes, view 7 of …, Synced` when healthy. */
  async view(): Promise<string> {
    const status = await this.#status();
    const value = (name: string): string => status.get(`wsrep_${name}`) ?? 'unknown';
    const view = `view ${value('cluster_conf_id')} of ${value('cluster_state_uuid')}`;
    return `${value('cluster_status')}, ${value('cluster_size')} nodes, ${view}, ${value('local_state_comment')}`;
  }

  async #status(): Promise<Map<string, string>> {
    const rows = await this.query("show status like 'wsrep_%'");
    return new Map(rows.map((row) => [String(row['Variable_name']), String(row['Value'])]));
  }
}

/** Starts the three nodes of a cluster, one after another. The caller must close each of them. */
export async function startGalera({
  server,
  provider,
  path,
}: GaleraPrograms): Promise<readonly GaleraNode[]> {
  const all = await Promise.all(Array.from({ length: NODES }, nodePorts));
  const cluster = `gcomm://${all.map(({ group }) => `127.0.0.1:${group}`).join(',')}`;
  const nodes: GaleraNode[] = [];
  let login: string | undefined;
  try {
    for (const ports of all) {
      const launch = await prepareServer(server, ports.client);
      login ??= launch.url;
      const isFirst = nodes.length === 0;
      const options = [...clusterOptions(ports, provider), `--wsrep-cluster-address=${cluster}`];
      const [fill = ['true'], [program, ...args] = ['false']] = launch.commands;
      const data = args.find((arg) => arg.startsWith('--datadir='))?.replace('--datadir=', '') ?? '';
      const node = new GaleraNode({
        url: throughPort(login, ports.client),
        commands: [
          // The other nodes copy their data, including the accounts, from the first one.
          isFirst ? fill : ['mkdir', data],
          [
            'env',
            `PATH=${path}`,
            program,
            ...args.filter((arg) => isFirst || !arg.startsWith('--init-file=')),
            ...options,
          ],
        ],
        afterwards: launch.afterwards,
      });
      nodes.push(node);
      await node.initialize();
      // Run as root, the rsync that receives a state transfer writes as nobody.
      if (process.getuid?.() === 0) await run('chown', ['nobody:nogroup', data]);
      await node.start(isFirst ? ['--wsrep-new-cluster'] : []);
    }
    return nodes;
  } catch (error) {
    await Promise.all(nodes.map((node) => node.close()));
    throw error;
  }
}

async function nodePorts(): Promise<NodePorts> {
  return {
    client: await freePort(),
    group: await freePort(),
    part: await freePort(),
    whole: await freePort(),
  };
}

function clusterOptions({ group, part, whole }: NodePorts, provider: string): string[] {
  const options = {
    base_port: group,
    'gmcast.listen_addr': `tcp://127.0.0.1:${group}`,
    'ist.recv_addr': `127.0.0.1:${part}`,
    'gcache.size': '32M',
  };
  return [
    '--binlog-format=ROW',
    '--innodb-autoinc-lock-mode=2',
    '--wsrep-on=ON',
    `--wsrep-provider=${provider}`,
    `--wsrep-provider-options=${Object.entries(options)
      .map((option) => option.join('='))
      .join(';')}`,
    '--wsrep-cluster-name=route-registry-test',
    `--wsrep-node-address=127.0.0.1:${group}`,
    `--wsrep-sst-receive-address=127.0.0.1:${whole}`,
    '--wsrep-sst-method=rsync',
  ];
}
