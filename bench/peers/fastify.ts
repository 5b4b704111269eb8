import fastify, { type onRequestHookHandler } from 'fastify';
import { createPool, type RowDataPacket } from 'mysql2/promise';
import { parse, v7, validate } from 'uuid';
import { announce } from '../bare/announce.js';
import { callerOf, may } from './caller.js';

/** The REST API as you might write it with Fastify, jsonwebtoken and mysql2: one prepared statement per call. */
const TEXT = { type: 'string', minLength: 1, maxLength: 255 } as const;
const DEFINITION = {
  method: { type: 'string', minLength: 1, maxLength: 32 },
  path: { type: 'string', pattern: '^/', maxLength: 2_048 },
  middleware: { type: 'array', items: TEXT, maxItems: 64, default: [] },
  handler: TEXT,
} as const;
const BODY = { type: 'object', properties: DEFINITION, required: ['method', 'path', 'handler'] } as const;
const ROUTE = {
  type: 'object',
  properties: { id: { type: 'string' }, ...DEFINITION, createdAt: { type: 'string', format: 'date-time' } },
} as const;

interface Definition {
  readonly method: string;
  readonly path: string;
  readonly middleware: string[];
  readonly handler: string;
}

interface Row extends RowDataPacket {
  readonly method: string;
  readonly path: string;
  /** A JSON array. */
  readonly middleware: string;
  readonly handler: string;
  readonly created_at_ms: number;
}

const pool = createPool({ uri: process.env['DATABASE_URL'] ?? '', connectionLimit: 10 });
const app = fastify();
app.decorateRequest('caller', '');

declare module 'fastify' {
  interface FastifyRequest {
    caller: string;
  }
}

app.get<{ Params: { id: string } }>(
  '/v1/routing/:id',
  { onRequest: needs('routes:read'), schema: { response: { 200: ROUTE } } },
  async ({ params: { id } }, reply) => {
    if (!validate(id)) return reply.code(404).send({ error: 'no such route' });
    const [[row]] = await pool.execute<Row[]>(
      'SELECT method, path, middleware, handler, created_at_ms FROM routes WHERE id = ?',
      [Buffer.from(parse(id))],
    );
    if (row === undefined) return reply.code(404).send({ error: 'no such route' });
    const { created_at_ms: createdAtMs, middleware, ...route } = row;
    const createdAt = new Date(createdAtMs);
    return { id, ...route, middleware: JSON.parse(middleware) as string[], createdAt };
  },
);

app.post<{ Body: Definition }>(
  '/v1/routing',
  { onRequest: needs('routes:write'), schema: { body: BODY, response: { 201: ROUTE } } },
  async ({ body, caller }, reply) => {
    const id = v7();
    const createdAt = new Date();
    await pool.execute(
      'INSERT INTO routes (id, method, path, middleware, handler, created_at_ms, caller) VALUES (?, ?, ?, ?, ?, ?, ?)',
      [
        Buffer.from(parse(id)),
        body.method,
        body.path,
        JSON.stringify(body.middleware),
        body.handler,
        createdAt.getTime(),
        caller,
      ],
    );
    return reply.code(201).send({ id, ...body, createdAt });
  },
);

function needs(scope: string): onRequestHookHandler {
  return (request, reply, done) => {
    try {
      const caller = callerOf(request.headers.authorization);
      if (!may(caller, scope)) {
        void reply.code(403).send({ error: `the scope ${scope} is required` });
        return;
      }
      request.caller = caller.sub;
    } catch {
      void reply.code(401).send({ error: 'a valid bearer token is required' });
      return;
    }
    done();
  };
}

await app.ready();
announce(app.server);
