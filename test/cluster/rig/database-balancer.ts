import { mkdtemp } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { inject } from 'vitest';
import { runHaproxy } from '../../faults/rig/haproxy.js';
import { freePort } from '../../support/free-port.js';
import type { GaleraNode } from './galera-node.js';
import { startHealthCheck } from './node-health.js';

/** A load balancer in front of the nodes of a cluster. */
export interface DatabaseBalancer {
  /** The port where all connections go to the same node: the first healthy one. */
  readonly writerPort: number;
  /** Takes a node out, so that another becomes the writer, and closes its connections. @param node its index */
  moveWriterFrom(node: number): Promise<void>;
  /** Lets a node become the writer again. */
  allowWriter(node: number): Promise<void>;
}

/** Starts HAProxy in front of the nodes, with a health check of each every 500 ms. It stops with the test. */
export async function startDatabaseBalancer(nodes: readonly GaleraNode[]): Promise<DatabaseBalancer> {
  const writerPort = await freePort();
  const control = join(await mkdtemp(join(inject('temporaryFolder'), 'control-')), 'socket');
  const servers: string[] = [];
  for (const [i, node] of nodes.entries()) {
    const port = await startHealthCheck(() => node.isSynced());
    servers.push(`  server node${i} 127.0.0.1:${node.port} check port ${port}`);
  }
  const configuration = [
    'global',
    `  stats socket ${control} level admin`,
    'defaults',
    '  mode tcp',
    '  timeout connect 1s',
    '  timeout client 60s',
    '  timeout server 60s',
    '  option httpchk GET /',
    '  default-server inter 500ms fall 2 rise 2 on-marked-down shutdown-sessions',
    'listen writer',
    `  bind 127.0.0.1:${writerPort}`,
    ...servers.map((server, i) => (i === 0 ? server : `${server} backup`)),
    '',
  ].join('\n');
  await runHaproxy(configuration, writerPort);
  const tell = async (command: string): Promise<void> => {
    const socket = createConnection(control);
    socket.end(`${command}\n`);
    const answer = (await text(socket)).trim();
    if (answer !== '') throw new Error(`HAProxy answers ${command} with ${answer}`);
  };
  return {
    writerPort,
    async moveWriterFrom(node) {
      await tell(`set server writer/node${node} state maint`);
      await tell(`shutdown sessions server writer/node${node}`);
    },
    allowWriter: (node) => tell(`set server writer/node${node} state ready`),
  };
}
