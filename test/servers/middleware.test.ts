import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTranscoder } from '@route-registry/transcoder';
import express, { type RequestHandler } from 'express';
import type { FastifyPluginCallback } from 'fastify';
import { expect, it, onTestFinished } from 'vitest';
import { withFastify } from '../../packages/transcoder/examples/with-fastify.js';
import { httpRequest } from '../../packages/transcoder/test/support/http-request.js';
import { libraryDescriptorSet } from '../../packages/transcoder/test/support/library-contract.js';
import { LibraryServer, MEMBER } from '../../packages/transcoder/test/support/library-server.js';
import { listening } from '../../packages/transcoder/test/support/opening.js';
import { npmPackages } from '../support/npm-packages.js';

const headers = { authorization: MEMBER };

/** What a package of npm exports. */
async function exportsOf(name: string, version: string): Promise<unknown> {
  const require = createRequire(join(await npmPackages({ [name]: version }), 'x.js'));
  return require(name);
}

it("a response from apicache's memory has the headers of the first", async () => {
  const apicache = (await exportsOf('apicache', '1.6.3')) as { middleware(time: string): RequestHandler };
  const upstream = new LibraryServer();
  const { handler } = createTranscoder({ descriptorSet: libraryDescriptorSet, upstream });
  const origin = await listening(createServer(express().use(apicache.middleware('1 minute'), handler)));
  const first = await httpRequest(origin, { path: '/v1/shelves/1', headers });
  const second = await httpRequest(origin, { path: '/v1/shelves/1', headers });
  expect(second.text).toBe(first.text);
  // Only the cache has seen the second one.
  expect(second.headers['x-request-id']).toBe(first.headers['x-request-id']);
  expect(second.headers).toMatchObject({ 'content-type': 'application/json', etag: first.headers.etag });
});

it('@fastify/static serves the files of its application at the root, beside a contract with a base path', async () => {
  const plugin = (await exportsOf('@fastify/static', '10.1.11')) as FastifyPluginCallback<{ root: string }>;
  const root = await mkdtemp(join(tmpdir(), 'static-'));
  onTestFinished(() => rm(root, { recursive: true }));
  await writeFile(join(root, 'hello.txt'), 'Hello');
  const upstream = new LibraryServer();
  const transcoder = createTranscoder({ descriptorSet: libraryDescriptorSet, upstream, basePath: '/api' });
  const app = withFastify(transcoder, (plugins) => void plugins.register(plugin, { root }), '/api');
  onTestFinished(() => app.close());
  const origin = await app.listen({ port: 0, host: '127.0.0.1' });
  expect((await httpRequest(origin, { path: '/hello.txt' })).text).toBe('Hello');
  expect((await httpRequest(origin, { path: '/api/v1/shelves/1', headers })).status).toBe(200);
});
