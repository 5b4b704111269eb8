import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { SERVICE_SETTINGS } from '../test/support/service.js';
import { Child } from './child.js';
import { childrenOf } from './process-usage.js';

/** A server under test: the processes whose usage is counted, and the addresses. */
export interface Server {
  readonly pids: readonly number[];
  /** `host:port` of its gRPC server. */
  readonly grpc?: string;
  /** `host:port` of its REST gateway. */
  readonly http?: string;
}

/** Starts and stops servers of the benchmark. */
export class Servers {
  readonly #children: Child[] = [];
  readonly #checkout: string;
  readonly #service: readonly string[];

  /** @param checkout folder of the built project whose service is started; default: the working directory, this project's */
  constructor(checkout = '.') {
    this.#checkout = checkout;
    this.#service = startCommand(checkout);
  }

  /** Starts one of the programs in `bare/`. @param behind servers that it calls, whose usage counts as its own */
  async bare(name: string, args: readonly string[] = [], behind: readonly Server[] = []): Promise<Server> {
    return this.#start(new Child([resolve(import.meta.dirname, `bare/${name}.js`), ...args]), behind);
  }

  /**
   * Starts the service as `npm start` does, with metrics and a log line for each request, which the benchmark reads, but on
   * free ports.
   */
  async service(settings: Readonly<Record<string, string>>, behind: readonly Server[] = []): Promise<Server> {
    const child = new Child(this.#service, { ...SERVICE_SETTINGS, ...settings }, this.#checkout);
    return this.#start(child, behind);
  }

  /** Starts the service's gRPC server and its gateway in separate processes. */
  async apart(settings: Readonly<Record<string, string>>): Promise<Server> {
    const grpc = await this.service({ ...settings, ROLE: 'grpc' });
    return this.service({ ...settings, ROLE: 'gateway', GRPC_UPSTREAM: grpc.grpc ?? '' }, [grpc]);
  }

  /** Starts one of the programs in `peers/`, with the settings of the service. */
  async peer(
    name: string,
    databaseUrl: string,
    args: readonly string[] = [],
    behind: readonly Server[] = [],
  ): Promise<Server> {
    const file = resolve(import.meta.dirname, `peers/${name}.js`);
    return this.#start(new Child([file, ...args], peerSettings(databaseUrl)), behind);
  }

  /** Starts the Go peer, built from `peers/go`. */
  async goPeer(binary: string, databaseUrl: string, args: readonly string[] = []): Promise<Server> {
    return this.#start(new Child(args, peerSettings(databaseUrl), '.', resolve(binary)), []);
  }

  /** Stops all that have been started. Others may be started afterwards. */
  async close(): Promise<void> {
    await Promise.all(this.#children.splice(0).map((child) => child.stop()));
  }

  /** Waits until a program prints its addresses. */
  async #start(child: Child, behind: readonly Server[]): Promise<Server> {
    this.#children.push(child);
    const { grpc, http } = (await child.message('listening')) as { grpc?: string; http?: string };
    return {
      pids: [child.pid, ...childrenOf(child.pid), ...behind.flatMap(({ pids }) => pids)],
      ...(grpc === undefined ? {} : { grpc }),
      ...(http === undefined ? {} : { http: new URL(http).host }),
    };
  }
}

function peerSettings(databaseUrl: string): Record<string, string> {
  return { ...SERVICE_SETTINGS, DATABASE_URL: databaseUrl };
}

/** The arguments that `npm start` passes to Node in that folder: options and the program. */
function startCommand(checkout: string): string[] {
  const file = readFileSync(join(checkout, 'package.json'), 'utf8');
  const { scripts } = JSON.parse(file) as { scripts: { start: string } };
  const [, command] = scripts.start.split('exec node ');
  if (command === undefined)
    throw new Error('The script start does not end with the command of the service.');
  return command.split(' ');
}
