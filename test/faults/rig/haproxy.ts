import { mkdtemp, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { inject, onTestFinished } from 'vitest';
import { watch } from '../../support/mysql-watchdog.js';
import { programPath } from '../../support/needs.js';
import { shippedInstances } from '../../support/shipped-instances.js';
import { type ServiceProcess, startProcess } from './service-process.js';

const START_MS = 10_000;

/** Two instances of the service behind HAProxy. */
interface BalancedInstances {
  /** HAProxy's addresses: `host:port` for gRPC, and the base URL for REST. */
  readonly grpc: string;
  readonly http: string;
  readonly instances: readonly Instance[];
}

/** One of the instances: its process, and the settings with which a new process may replace it. */
interface Instance {
  process: ServiceProcess;
  readonly settings: Readonly<Record<string, string>>;
}

/**
 * Starts two instances behind HAProxy, both as `deploy/` configures them for one machine, but on free ports and without
 * retries. They stop when the test ends.
 */
export async function startInstances(common: Readonly<Record<string, string>>): Promise<BalancedInstances> {
  const { configuration, grpc, http, instances } = await shippedInstances();
  const started = await Promise.all(
    instances.map(async (own): Promise<Instance> => {
      const settings = { ...common, ...own };
      return { process: await startProcess(settings), settings };
    }),
  );
  const withoutRetries = configuration.replace('retries 2', 'retries 0');
  await runHaproxy(withoutRetries, Number(grpc.split(':')[1]));
  return { grpc, http: `http://${http}`, instances: started };
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
