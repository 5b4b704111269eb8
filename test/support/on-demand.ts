import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestProject } from 'vitest/node';
import { reasonOf } from './reason.js';

/**
 * Makes what test files ask for with `fetchSupply`, each thing when the first one asks, and once.
 *
 * @param makers by name, functions that resolve to plain data
 * @returns stops it, without what was made
 */
export async function makeOnDemand(
  project: TestProject,
  makers: Readonly<Record<string, () => Promise<unknown>>>,
): Promise<() => void> {
  const made = new Map<string, Promise<unknown>>();
  const server = createServer(({ url = '' }, response) => {
    const name = url.slice(1);
    const making = made.get(name) ?? Promise.resolve(makers[name]?.());
    made.set(name, making);
    making.then(
      (value) => response.end(JSON.stringify(value)),
      (error: unknown) => response.writeHead(500).end(reasonOf(error)),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  project.provide('onDemand', `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return () => server.close();
}
