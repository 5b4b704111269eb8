import { mkdtemp, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { inject, onTestFinished } from 'vitest';
import { freePort } from '../../support/free-port.js';
import { watch } from '../../support/mysql-watchdog.js';
import { programPath } from '../../support/needs.js';

const START_MS = 10_000;

/** The two ports of a service instance behind a balancer. */
export interface Instance {
  readonly grpcPort: number;
  readonly httpPort: number;
}

/** A balancer's addresses: `host:port` for gRPC, and the base URL for REST. */
export interface Balancer {
  readonly grpc: string;
  readonly http: string;
}

/**
 * Starts HAProxy in front of the instances; it stops when the test ends. HAProxy checks the health of each instance
 * every second, takes an instance out after one failed check, and retries no request.
 */
export async function startHaproxy(instances: readonly Instance[]): Promise<Balancer> {
  const [grpcPort, httpPort] = [await freePort(), await freePort()];
  await runHaproxy(configuration(instances, grpcPort, httpPort), grpcPort);
  return { grpc: `127.0.0.1:${grpcPort}`, http: `http://127.0.0.1:${httpPort}` };
}

/** Runs HAProxy with a configuration until the test ends. Resolves when it listens on the port. */
export async function runHaproxy(text: string, port: number): Promise<void> {
  const folder = await mkdtemp(join(inject('temporaryFolder'), 'haproxy-'));
  const file = join(folder, 'haproxy.cfg');
  await writeFile(file, text);
  const watchdog = watch({ commands: [[programPath('haproxy'), '-db', '-f', file]], afterwards: [] });
  onTestFinished(() => watchdog.stop());
  const deadline = Date.now() + START_MS;
  while (!(await listens(port))) {
    if (Date.now() < deadline) await sleep(50);
    else {
      await watchdog.stop();
      throw new Error(`HAProxy does not listen: ${await watchdog.ended}`);
    }
  }
}

function configuration(instances: readonly Instance[], grpcPort: number, httpPort: number): string {
  const check = 'check inter 1s fall 1 rise 1';
  return [
    'defaults',
    '  mode http',
    '  retries 0',
    '  timeout connect 2s',
    '  timeout client 60s',
    '  timeout server 60s',
    '  option httpchk GET /healthz',
    'frontend rest',
    `  bind 127.0.0.1:${httpPort}`,
    '  default_backend rest',
    'backend rest',
    ...instances.map((each, i) => `  server rest${i} 127.0.0.1:${each.httpPort} ${check}`),
    'frontend grpc',
    `  bind 127.0.0.1:${grpcPort} proto h2`,
    '  default_backend grpc',
    'backend grpc',
    ...instances.map(
      (each, i) =>
        `  server grpc${i} 127.0.0.1:${each.grpcPort} proto h2 ${check} port ${each.httpPort} check-proto h1`,
    ),
    '',
  ].join('\n');
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    }).on('error', () => {
      resolve(false);
    });
  });
}
