import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { SERVICE_SETTINGS } from '../test/support/service.js';
import { Child } from './child.js';
import { childrenOf } from './process-usage.js';

/** A server under test: the processes whose cost is counted, and where it is called. */
export interface Server {
  readonly pids: readonly number[];
  /** `host:port` of its gRPC server. */
  readonly grpc?: string;
  /** `host:port` of its REST gateway. */
  readonly http?: string;
  /** Ends it before the benchmark does. */
  readonly stop: () => Promise<void>;
}

/** The processes that run for the benchmark. */
export class Servers {
  readonly #children: Child[] = [];
  readonly #folders: string[] = [];
  readonly #checkout: string;
  readonly #service: readonly string[];

  /** @param checkout the folder of the built project whose service runs; default: this one, where npm runs every script */
  constructor(checkout = '.') {
    this.#checkout = checkout;
    this.#service = startCommand(checkout);
  }

  /** One of the bare programs in `limits/`, with no option for Node, behind which the given servers work. */
  async limit(name: string, args: readonly string[] = [], behind: readonly Server[] = []): Promise<Server> {
    return this.#start(new Child([resolve(import.meta.dirname, `limits/${name}.js`), ...args]), behind);
  }

  /**
   * The service as `npm start` starts it, with metrics and a line for each request, which the benchmark reads; but on
   * any free port.
   */
  async service(
    settings: Readonly<Record<string, string>>,
    behind: readonly Server[] = [],
    nodeOptions: readonly string[] = [],
  ): Promise<Server> {
    const command = [...nodeOptions, ...this.#service];
    return this.#start(new Child(command, { ...SERVICE_SETTINGS, ...settings }, this.#checkout), behind);
  }

  /** The service's gRPC server, and its gateway in a process of its own. */
  async apart(settings: Readonly<Record<string, string>>): Promise<Server> {
    const grpc = await this.service({ ...settings, ROLE: 'grpc' });
    return this.service({ ...settings, ROLE: 'gateway', GRPC_UPSTREAM: grpc.grpc ?? '' }, [grpc]);
  }

  /** One of the programs in `peers/`, with the settings of the service as far as it needs them. */
  async peer(
    name: string,
    databaseUrl: string,
    args: readonly string[] = [],
    behind: readonly Server[] = [],
  ): Promise<Server> {
    const file = resolve(import.meta.dirname, `peers/${name}.js`);
    return this.#start(new Child([file, ...args], peerSettings(databaseUrl)), behind);
  }

  /** The peer in Go, built from `peers/go`. */
  async goPeer(binary: string, databaseUrl: string, args: readonly string[] = []): Promise<Server> {
    return this.#start(new Child(args, peerSettings(databaseUrl), '.', resolve(binary)), []);
  }

  /** An empty folder that goes with the servers. */
  async folder(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'rr-bench-'));
    this.#folders.push(folder);
    return folder;
  }

  async close(): Promise<void> {
    await Promise.all(this.#children.map((child) => child.stop()));
    for (const folder of this.#folders) await rm(folder, { recursive: true, force: true });
  }

  /** Waits until a program says where it listens. */
  async #start(child: Child, behind: readonly Server[]): Promise<Server> {
    this.#children.push(child);
    const { grpc, http } = (await child.message('listening')) as { grpc?: string; http?: string };
    return {
      pids: [child.pid, ...childrenOf(child.pid), ...behind.flatMap(({ pids }) => pids)],
      ...(grpc === undefined ? {} : { grpc }),
      ...(http === undefined ? {} : { http: new URL(http).host }),
      stop: () => child.stop(),
    };
  }
}

function peerSettings(databaseUrl: string): Record<string, string> {
  return { ...SERVICE_SETTINGS, DATABASE_URL: databaseUrl };
}

/** The service as `npm start` starts it in that folder: the options for Node, and its program. */
function startCommand(checkout: string): string[] {
  const file = readFileSync(join(checkout, 'package.json'), 'utf8');
  const { scripts } = JSON.parse(file) as { scripts: { start: string } };
  const [, command] = scripts.start.split('exec node ');
  if (command === undefined)
    throw new Error('The script start does not end with the command of the service.');
  return command.split(' ');
}
