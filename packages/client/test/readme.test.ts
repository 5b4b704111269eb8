import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { status } from '@grpc/grpc-js';
import { expect, it, vi } from 'vitest';
import { createAndGet } from '../examples/create-and-get.js';
import { client } from '../examples/fake-client.js';
import { keptToken } from '../examples/kept-token.js';
import type { RouteClient } from '../src/index.js';
import { startFaultServer, STORED } from './support/fault-server.js';
import { clientFor, DEFINITION } from './support/test-client.js';

const PACKAGE = resolve(import.meta.dirname, '..');
const readme = readFileSync(`${PACKAGE}/README.md`, 'utf8');

it.each(['create-and-get.ts', 'kept-token.ts', 'fake-client.ts'])(
  'the README shows the tested example %s',
  (name) => {
    expect(readme).toContain(readFileSync(`${PACKAGE}/examples/${name}`, 'utf8'));
  },
);

it('the example that creates a route reads it back', async () => {
  const { address, received } = await startFaultServer(() => STORED);
  await expect(createAndGet(address, 'a.token')).resolves.toMatchObject(DEFINITION);
  expect(received.map(({ method }) => method)).toEqual(['CreateRoute', 'GetRoute']);
});

it('the fake client fits where a client is taken, and fails as the service does', async () => {
  const used: RouteClient = client;
  await expect(used.getRoute('x')).rejects.toMatchObject({ status: 'NOT_FOUND', reason: 'ROUTE_NOT_FOUND' });
});

it('the example that caches a token issues one for concurrent calls, and another after a refusal', async () => {
  const server = await startFaultServer(({ metadata }) =>
    metadata.get('authorization')[0] === 'Bearer number-2'
      ? STORED
      : { code: status.UNAUTHENTICATED, details: 'No.' },
  );
  let issued = 0;
  const issue = vi.fn(() => Promise.resolve({ token: `number-${++issued}`, expiresAt: Date.now() + 60_000 }));
  const calling = clientFor(server.address, { token: keptToken(issue) });
  await Promise.all([calling.getRoute('x'), calling.getRoute('x'), calling.getRoute('x')]);
  await calling.getRoute('x');
  expect(issue).toHaveBeenCalledTimes(2);
  expect(server.tokens.at(-1)).toBe('Bearer number-2');
});
