import { access, constants, mkdtemp, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { inject, onTestFinished } from 'vitest';
import { installPackages } from '../../support/apt.js';
import { freePort } from '../../support/free-port.js';
import { watch } from '../../support/mysql-watchdog.js';

const FOLDERS = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin'];
const START_MS = 10_000;

/** An instance of the service behind a balancer, with its two ports. */
export interface Instance {
  readonly grpcPort: number;
  readonly httpPort: number;
}

/** A balancer's two faces: `host:port`, and the base of all REST paths. */
export interface Balancer {
  readonly grpc: string;
  readonly http: string;
}

/**
 * Starts HAProxy in front of the instances. It asks each for its health every second, takes an instance out after one
 * bad answer, and repeats no request. It ends with the test.
 */
export async function startHaproxy(instances: readonly Instance[]): Promise<Balancer> {
  const program = await haproxy();
  const [grpcPort, httpPort] = [await freePort(), await freePort()];
  const folder = await mkdtemp(join(inject('temporaryFolder'), 'haproxy-'));
  const file = join(folder, 'haproxy.cfg');
  await writeFile(file, configuration(instances, grpcPort, httpPort));
  const watchdog = watch({ commands: [[program, '-db', '-f', file]], afterwards: [] });
  onTestFinished(() => watchdog.stop());
  const deadline = Date.now() + START_MS;
  while (!(await listens(grpcPort))) {
    if (Date.now() < deadline) await sleep(50);
    else {
      await watchdog.stop();
      throw new Error(`HAProxy does not listen: ${await watchdog.ended}`);
    }
  }
  return { grpc: `127.0.0.1:${grpcPort}`, http: `http://127.0.0.1:${httpPort}` };
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

/** The program, installed from the packages of Debian or Ubuntu if it is missing. */
async function haproxy(): Promise<string> {
  const found = await installed();
  if (found !== undefined) return found;
  try {
    await installPackages(['haproxy'], 'the test of a rolling restart needs it, and none is on the PATH');
  } catch (cause) {
    throw new Error(
      'The test of a rolling restart needs HAProxy 2.4 or later: install it. It cannot be installed from packages here.',
      { cause },
    );
  }
  const now = await installed();
  if (now === undefined) throw new Error('The package was installed and has no haproxy.');
  return now;
}

async function installed(): Promise<string | undefined> {
  for (const path of FOLDERS.map((folder) => join(folder, 'haproxy'))) {
    const usable = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (usable) return path;
  }
  return undefined;
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
