import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, inject } from 'vitest';
import { errorOf, httpRequest } from '../../../packages/transcoder/test/support/http-request.js';
import { freePort } from '../../support/free-port.js';
import { buildDescriptorSet, GOOGLE_FILES, OWN_FILES } from './descriptor-set.js';
import { startProgram } from './started-program.js';

/** A server of `greeter.v1.Greeter` to be started. */
export interface GreeterServer {
  /** A temporary folder, with the contract in `proto`. */
  readonly folder: string;
  /** The path of the contract's descriptor set. */
  readonly set: string;
  /** `127.0.0.1:50051` */
  readonly address: string;
  /** Starts a program in the folder, with the address and the set as its last arguments. */
  readonly start: (program: string, ...args: readonly string[]) => Promise<void>;
}

/** Prepares what a server of the greeter needs. */
export async function prepareGreeter(): Promise<GreeterServer> {
  const folder = await mkdtemp(join(inject('temporaryFolder'), 'greeter-'));
  const set = await buildDescriptorSet(folder, {
    'greeter/v1/greeter.proto': join(OWN_FILES, 'greeter/v1/greeter.proto'),
    'greeter/v1/greeting.proto': join(OWN_FILES, 'greeter/v1/greeting.proto'),
    'google/api/annotations.proto': join(GOOGLE_FILES, 'google/api/annotations.proto'),
    'google/api/http.proto': join(GOOGLE_FILES, 'google/api/http.proto'),
  });
  const port = await freePort();
  const address = `127.0.0.1:${port}`;
  return {
    folder,
    set,
    address,
    start: async (program, ...args) => {
      const at = { host: '127.0.0.1', port };
      await startProgram(program, [...args, address, set], { cwd: folder, at });
    },
  };
}

/** Sends a request for a greeting, by its HTTP rule or by the name of its method. */
type Greet = (method: 'Greet' | 'Repeat', name: string) => ReturnType<typeof httpRequest>;

/** By the HTTP rules of the contract. */
export const byRule =
  (origin: string): Greet =>
  (method, name) =>
    httpRequest(origin, { path: `/v1/greetings/${name}${method === 'Repeat' ? ':repeat' : ''}` });

/** By the names of the methods, with `--all`. */
export const byName =
  (origin: string): Greet =>
  (method, name) =>
    httpRequest(origin, {
      method: 'POST',
      path: `/greeter.v1.Greeter/${method}`,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name }),
    });

/** Checks a unary call, an error and a stream. */
export async function expectGreetings(greet: Greet): Promise<void> {
  expect((await greet('Greet', 'Ada')).text).toBe('{"text":"Hello Ada"}');
  const failed = await greet('Greet', 'nobody');
  expect(errorOf(failed)).toMatchObject({ code: 404, status: 'NOT_FOUND', message: 'There is nobody.' });
  const stream = await greet('Repeat', 'Ada');
  expect(stream.headers['content-type']).toBe('application/x-ndjson');
  expect(stream.text).toBe('{"text":"Hello Ada"}\n'.repeat(3));
}
