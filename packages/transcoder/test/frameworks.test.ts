import { once } from 'node:events';
import { createServer, request as send } from 'node:http';
import fastifyCors from '@fastify/cors';
import fastifyLimit from '@fastify/rate-limit';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import cors from 'cors';
import express from 'express';
import { rateLimit } from 'express-rate-limit';
import { Hono } from 'hono';
import { cors as honoCors } from 'hono/cors';
import { secureHeaders } from 'hono/secure-headers';
import { rateLimiter } from 'hono-rate-limiter';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { withFastify } from '../examples/with-fastify.js';
import { withHono } from '../examples/with-hono.js';
import { createTranscoder, type Transcoder } from '../src/transcoder.js';
import { errorOf, httpRequest } from './support/http-request.js';
import { libraryDescriptorSet } from './support/library-contract.js';
import { LibraryServer, MEMBER } from './support/library-server.js';
import { listening } from './support/opening.js';

const ORIGIN = 'https://app.example';
const headers = { authorization: MEMBER, 'content-type': 'application/json', origin: ORIGIN };
const shelf = { method: 'POST', path: '/v1/shelves', headers, body: '{"theme":"x"}' };

function transcoder(): Transcoder {
  return createTranscoder({ descriptorSet: libraryDescriptorSet, upstream: new LibraryServer() });
}

type FetchCallback = Parameters<typeof getRequestListener>[0];

/** Starts an application with CORS for an origin, and at most three requests. Returns its origin. */
const applications: Record<string, () => Promise<string>> = {
  Express: () => {
    const app = express();
    app.use(cors({ origin: ORIGIN }), rateLimit({ limit: 3, validate: false }), transcoder().handler);
    return listening(createServer(app));
  },
  Fastify: async () => {
    const app = withFastify(transcoder(), (plugins) => {
      plugins.register(fastifyCors, { origin: ORIGIN });
      plugins.register(fastifyLimit, { max: 3 });
    });
    onTestFinished(() => app.close());
    return app.listen({ port: 0, host: '127.0.0.1' });
  },
  Hono: startHono,
};

function startHono(): Promise<string> {
  const limit = rateLimiter({ limit: 3, keyGenerator: () => 'all' });
  const app = new Hono<{ Bindings: HttpBindings }>();
  app.use(honoCors({ origin: ORIGIN }), secureHeaders(), limit);
  const listener = getRequestListener(withHono(transcoder(), app) as FetchCallback);
  return listening(createServer((request, response) => void listener(request, response)));
}

describe.each(Object.entries(applications))('behind %s', (_, start) => {
  it('responses have the headers of its CORS, and its rate limit holds', async () => {
    const origin = await start();
    const created = await httpRequest(origin, shelf);
    expect(created.status).toBe(201);
    expect(JSON.parse(created.text)).toMatchObject({ theme: 'x' });
    expect(created.headers['access-control-allow-origin']).toBe(ORIGIN);
    const wrong = await httpRequest(origin, { ...shelf, body: '{"theme":7}' });
    expect(errorOf(wrong)).toMatchObject({ code: 400 });
    expect(wrong.headers['access-control-allow-origin']).toBe(ORIGIN);
    expect((await httpRequest(origin, { path: '/v1/shelves/1', headers })).status).toBe(200);
    expect((await httpRequest(origin, { path: '/v1/shelves/1', headers })).status).toBe(429);
  });

  it('a preflight request is answered', async () => {
    const asked = { origin: ORIGIN, 'access-control-request-method': 'POST' };
    const reply = await httpRequest(await start(), {
      method: 'OPTIONS',
      path: '/v1/shelves',
      headers: asked,
    });
    expect(reply.status).toBeLessThan(300);
    expect(reply.headers['access-control-allow-origin']).toBe(ORIGIN);
  });
});

it('an application of Fastify answers requests to unknown paths itself', async () => {
  const app = withFastify(transcoder(), (plugins) => {
    plugins.setNotFoundHandler((request, reply) => reply.code(404).send(`Nothing at ${request.url}.`));
  });
  onTestFinished(() => app.close());
  const origin = await app.listen({ port: 0, host: '127.0.0.1' });
  expect(await httpRequest(origin, { path: '/nowhere' })).toMatchObject({
    status: 404,
    text: 'Nothing at /nowhere.',
  });
  expect((await httpRequest(origin, { path: '/v1/shelves/1', headers })).status).toBe(200);
});

it('secureHeaders of Hono are in responses', async () => {
  const reply = await httpRequest(await startHono(), { path: '/v1/shelves/1', headers });
  expect(reply.headers['x-content-type-options']).toBe('nosniff');
});

it('a framework that has parsed the body passes it on as rawBody', async () => {
  const app = express();
  app.use(
    express.json({ verify: (request, _response, bytes) => Object.assign(request, { rawBody: bytes }) }),
  );
  app.use(transcoder().handler);
  const created = await httpRequest(await listening(createServer(app)), shelf);
  expect(created.status).toBe(201);
  expect(JSON.parse(created.text)).toMatchObject({ theme: 'x' });
});

it('an adapter for functions may have no major version and a socket without events', async () => {
  const { handler } = transcoder();
  const server = createServer((request, response) => {
    Object.defineProperties(request, {
      socket: { value: { destroyed: false } },
      httpVersionMajor: { value: undefined },
    });
    handler(request, response);
  });
  expect((await httpRequest(await listening(server), { path: '/v1/shelves/1', headers })).status).toBe(200);
});

it('many transcoders share a connection without a warning', async () => {
  const warn = vi.spyOn(process, 'emitWarning').mockReturnValue();
  onTestFinished(() => void vi.restoreAllMocks());
  const app = express();
  for (let made = 0; made < 12; made++) app.use(transcoder().handler);
  const { hostname, port } = new URL(await listening(createServer(app)));
  const { Agent } = await import('node:http');
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  for (let sent = 0; sent < 3; sent++) {
    const request = send({ hostname, port, path: '/nowhere', agent }).end();
    const [response] = (await once(request, 'response')) as [NodeJS.ReadableStream];
    await once(response.resume(), 'end');
  }
  agent.destroy();
  expect(warn).not.toHaveBeenCalled();
});
