import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { SERVICE_SETTINGS } from '../test/support/service.js';
import { Child } from './child.js';
import { childrenOf } from './process-usage.js';

/** The service as `npm start` starts it in that folder: the options for Node, and its program. */
function startCommand(checkout: string): string[] {
  const file = readFileSync(join(checkout, 'package.json'), 'utf8');
  const { scripts } = JSON.parse(file) as { scripts: { start: string } };
  const [, command] = scripts.start.split(' && exec node ');
  if (command === undefined)
    throw new Error('The script start does not end with the command of the service.');
  return command.split(' ');
}

/** As `npm start` starts it, with metrics and a line for each request, which the benchmark reads; but on any free port. */
const AS_STARTED = { OPS_ADDRESS: '127.0.0.1:0' };

/** The service without metrics. */
export const UNMETERED: Readonly<Record<string, string>> = { OPS_ADDRESS: 'off' };
/** The service without the lines of successful requests. */
export const UNLOGGED: Readonly<Record<string, string>> = { ACCESS_LOG: 'failures' };

/** The service without its caches of routes. */
export const NO_CACHE: Readonly<Record<string, string>> = { ROUTE_CACHE_MIB: '0' };

/** A server under test: the processes whose cost is counted, and where it is called. */
export interface Server {
  readonly pids: readonly number[];
  /** `host:port` of its gRPC face. */
  readonly grpc?: string;
  /** `host:port` of its REST face. */
  readonly http?: string;
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
    const child = this.#own(new Child([resolve(import.meta.dirname, `limits/${name}.js`), ...args]));
    return {
      ...addresses(await child.message('listening')),
      pids: [child.pid, ...behind.flatMap(({ pids }) => pids)],
    };
  }

  /** The service, driven by its settings alone. Ends with the benchmark. */
  async service(settings: Readonly<Record<string, string>>, behind: readonly Server[] = []): Promise<Server> {
    const { child, ...at } = await this.serviceProcess(settings);
    return { ...at, pids: [child.pid, ...childrenOf(child.pid), ...behind.flatMap(({ pids }) => pids)] };
  }

  /** The service with options for Node, for those who end it themselves. */
  async serviceProcess(
    settings: Readonly<Record<string, string>>,
    nodeOptions: readonly string[] = [],
  ): Promise<{ child: Child; grpc?: string; http?: string }> {
    const command = [...nodeOptions, ...this.#service];
    const child = this.#own(
      new Child(command, { ...SERVICE_SETTINGS, ...AS_STARTED, ...settings }, this.#checkout),
    );
    return { child, ...addresses(await child.message('listening')) };
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

  #own(child: Child): Child {
    this.#children.push(child);
    return child;
  }
}

/** The addresses of a program, from the line in which it says that it listens. */
function addresses(line: unknown): { grpc?: string; http?: string } {
  const { grpc, http } = line as { grpc?: string; http?: string };
  return {
    ...(grpc === undefined ? {} : { grpc }),
    ...(http === undefined ? {} : { http: new URL(http).host }),
  };
}
