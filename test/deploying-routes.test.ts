import { readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { resolve } from 'node:path';
import express from 'express';
import fastify from 'fastify';
import { describe, expect, it } from 'vitest';
import { keyOf } from '../examples/typescript/shop/registry.js';
import { listening } from '../packages/transcoder/test/support/opening.js';
import { readPath } from '../src/registry/path-pattern.js';

const PAGE = readFileSync(resolve(import.meta.dirname, '../docs/deploying-routes.md'), 'utf8');

type Method = 'GET' | 'HEAD';
type Mounted = readonly (readonly [method: Method, path: string])[];

/** Mounts routes, which say which of them answers, and in JSON with which parameters. @throws what the router throws */
type Mount = (routes: Mounted) => Promise<RequestListener>;

const expressMount: Mount = (routes) => {
  const application = express();
  for (const [method, path] of routes)
    application[method === 'GET' ? 'get' : 'head'](path, ({ params }, response) => {
      response.set('x-route', method).json(params);
    });
  return Promise.resolve(application as RequestListener);
};

const fastifyMount: Mount = async (routes) => {
  const application = fastify();
  for (const [method, url] of routes)
    application.route({
      method,
      url,
      handler: ({ params }, reply) => reply.header('x-route', method).send(params),
    });
  await application.ready();
  return (request, response) => {
    application.routing(request, response);
  };
};

const ROUTERS: readonly (readonly [name: string, mount: Mount])[] = [
  ['Express 5', expressMount],
  ['Fastify 5', fastifyMount],
];

async function answerOf(mount: Mount, routes: Mounted, target: string, method: Method): Promise<Response> {
  const origin = await listening(createServer(await mount(routes)));
  return fetch(origin + target, { method, headers: { connection: 'close' } });
}

/** What the page says of a path and a request: the parameters, or that the path is refused or not found. */
async function cellOf(mount: Mount, path: string, target: string): Promise<string> {
  const mounted = answerOf(mount, [['GET', path]], target, 'GET');
  return mounted.then(
    async (response) => (response.ok ? await response.text() : 'not found'),
    () => 'refused',
  );
}

const ROWS = [...PAGE.matchAll(/^\| (`\/.*) \|$/gm)].map(([, row = '']) =>
  row.split(' | ').map((cell) => cell.replaceAll('`', '')),
) as [path: string, target: string, express: string, fastify: string][];

describe('docs/deploying-routes.md', () => {
  it.each(ROWS)('says of %s what the registry and the routers do with it', async (path, target, ...cells) => {
    const answers = ROUTERS.map(([, mount]) => cellOf(mount, path, target));
    expect(readPath(path).problems).toEqual([]);
    expect(await Promise.all(answers)).toEqual(cells);
  });

  it('says in a table what is mounted alike, differently and not at all', () => {
    const cells = ROWS.flatMap(([, , ...cellsOfRow]) => cellsOfRow);
    expect(new Set(cells).size).toBeGreaterThan(5);
    expect(cells).toEqual(expect.arrayContaining(['refused', 'not found']));
  });

  it('says what stands for a bare *', async () => {
    expect(readPath('*').problems).not.toEqual([]);
    expect([readPath('/*').problems, readPath('/{*path}').problems]).toEqual([[], []]);
    expect((await answerOf(fastifyMount, [['GET', '*']], '/x/y', 'GET')).status).toBe(200);
    expect((await answerOf(fastifyMount, [['GET', '/*']], '/', 'GET')).status).toBe(200);
    expect((await answerOf(expressMount, [['GET', '/{*path}']], '/', 'GET')).status).toBe(200);
  });

  it('says how Fastify matches percent-encoded text', async () => {
    const path = '/caf%C3%A9';
    expect((await answerOf(fastifyMount, [['GET', decodeURI(path)]], path, 'GET')).status).toBe(200);
  });
});

describe.each(ROUTERS)('%s', (_, mount) => {
  it('answers HEAD with a GET route', async () => {
    expect((await answerOf(mount, [['GET', '/x']], '/x', 'HEAD')).headers.get('x-route')).toBe('GET');
  });

  it('answers HEAD with a HEAD route that stands before the GET route', async () => {
    const routes = [
      ['HEAD', '/x'],
      ['GET', '/x'],
    ] as const;
    expect((await answerOf(mount, routes, '/x', 'HEAD')).headers.get('x-route')).toBe('HEAD');
  });
});

describe('a HEAD route after the GET route', () => {
  const routes = [
    ['GET', '/x'],
    ['HEAD', '/x'],
  ] as const;

  it('is never called by Express 5', async () => {
    expect((await answerOf(expressMount, routes, '/x', 'HEAD')).headers.get('x-route')).toBe('GET');
  });

  it('is refused by Fastify 5, which makes one itself and reports it to an onRoute hook', async () => {
    await expect(fastifyMount(routes)).rejects.toThrow("Method 'HEAD' already declared for route '/x'");
    const application = fastify();
    const reported: unknown[] = [];
    application.addHook('onRoute', ({ method }) => {
      reported.push(method);
    });
    application.get('/x', () => 'x');
    await application.ready();
    expect(reported).toEqual(['GET', 'HEAD']);
  });
});

describe('the key of a definition', () => {
  const definition = { method: 'GET', path: '/orders/:id', middleware: ['a', 'b'], handler: 'orders.get' };

  it('is the same for the same definition, and another one when any part of it has changed', () => {
    const others = [
      { ...definition, method: 'PUT' },
      { ...definition, path: '/orders/:order' },
      { ...definition, middleware: ['b', 'a'] },
      { ...definition, handler: 'orders.show' },
    ];
    expect(keyOf({ ...definition })).toBe(keyOf(definition));
    expect(new Set([definition, ...others].map(keyOf)).size).toBe(5);
  });

  it('fits the registry, and has no middleware where none is given', () => {
    const { method, path, handler } = definition;
    expect(keyOf(definition)).toMatch(/^shop\/[\w-]{43}$/);
    expect(keyOf({ method, path, handler })).toBe(keyOf({ ...definition, middleware: [] }));
  });
});
