import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { watch, type Watchdog } from '../test/support/mysql-watchdog.js';
import { supplyProgram } from '../test/support/programs.js';
import { shippedInstances } from '../test/support/shipped-instances.js';
import { listenerOf } from './process-usage.js';
import type { Server, Servers } from './servers.js';

/** How long HAProxy may take to start listening, in milliseconds. */
const START_MS = 10_000;

/** Instances of the service behind HAProxy, configured as in `deploy/` for one machine, but on free ports. */
export class Instances {
  readonly #servers: Servers;
  readonly #watchdogs: Watchdog[] = [];

  constructor(servers: Servers) {
    this.#servers = servers;
  }

  /** Starts two instances. HAProxy's usage counts as theirs; its log is discarded. */
  async start(settings: Readonly<Record<string, string>>): Promise<Server> {
    const { configuration, grpc, http, instances } = await shippedInstances();
    const behind = await Promise.all(instances.map((own) => this.#servers.service({ ...settings, ...own })));
    const file = join(await this.#servers.folder(), 'haproxy.cfg');
    await writeFile(file, configuration);
    const command = [
      'sh',
      '-c',
      'exec "$0" -db -f "$1" > /dev/null',
      await supplyProgram('haproxy'),
      file,
    ] as const;
    const watchdog = watch({ commands: [command], afterwards: [] });
    this.#watchdogs.push(watchdog);
    const pids = [await this.#listening(grpc), ...behind.flatMap((each) => each.pids)];
    return { pids, grpc, http };
  }

  async close(): Promise<void> {
    await Promise.all(this.#watchdogs.map((watchdog) => watchdog.stop()));
  }

  /** Waits until a process listens at the address, and returns its id. */
  async #listening(address: string): Promise<number> {
    const port = Number(address.split(':')[1]);
    const deadline = performance.now() + START_MS;
    while (performance.now() < deadline) {
      const pid = listenerOf(port);
      if (pid !== undefined) return pid;
      await sleep(50);
    }
    throw new Error('HAProxy does not listen.');
  }
}
