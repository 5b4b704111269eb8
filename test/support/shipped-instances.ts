import { readFile } from 'node:fs/promises';
import { freePort } from './free-port.js';

const UNIT = 'deploy/systemd/route-registry@.service';
const HAPROXY = 'deploy/haproxy/haproxy.cfg';
/** The ports in the shipped files, of HAProxy and of both instances. */
const PORT = /(?<=:|port )\d{4,5}\b/g;

/** Two instances on one machine behind HAProxy, as in docs/operations.md, but on free loopback ports. */
interface ShippedInstances {
  /** The configuration of HAProxy. */
  readonly configuration: string;
  /** The addresses on which HAProxy listens, `host:port`. */
  readonly grpc: string;
  readonly http: string;
  /** The addresses of each instance, as settings. */
  readonly instances: readonly Readonly<Record<string, string>>[];
}

/** Reads the shipped files, relative to the project's folder, where npm runs every script. */
export async function shippedInstances(): Promise<ShippedInstances> {
  const texts = [await configuration(), '127.0.0.1:50051', '127.0.0.1:8080', ...(await instances([1, 2]))];
  const free = new Map<string, number>();
  for (const [port] of texts.join('\n').matchAll(PORT)) if (!free.has(port)) free.set(port, await freePort());
  const [cfg = '', grpc = '', http = '', ...settings] = texts.map((text) =>
    text.replaceAll(PORT, (port) => String(free.get(port))),
  );
  return { configuration: cfg, grpc, http, instances: settings.map(settingsIn) };
}

/** The configuration of HAProxy, with the commented lines for one machine in place of those for containers. */
async function configuration(): Promise<string> {
  const text = await readFile(HAPROXY, 'utf8');
  return text
    .replace(/^.* route-registry[^ ]*:.*\n/gm, '')
    .replaceAll('# server', 'server')
    .replaceAll('bind :', 'bind 127.0.0.1:');
}

/** The addresses that the unit template gives these instances, as `NAME=value` pairs separated by spaces. */
async function instances(numbers: readonly number[]): Promise<string[]> {
  const [, pairs = ''] = /^Environment=(\w+_ADDRESS=.*)$/m.exec(await readFile(UNIT, 'utf8')) ?? [];
  return numbers.map((number) => pairs.replaceAll('%i', String(number)));
}

function settingsIn(pairs: string): Record<string, string> {
  return Object.fromEntries(pairs.split(' ').map((pair) => pair.split('=') as [string, string]));
}
