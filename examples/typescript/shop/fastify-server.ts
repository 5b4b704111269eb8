/** Serves the routes of the manifest with Fastify 5. Its token needs the scope `routes:read`. `PORT`: default 3000. */
import fastify, { type preHandlerAsyncHookHandler } from 'fastify';
import { registeredRoutes } from './registry.js';
import { HANDLERS, entryNamed, type Parameters } from './routes.js';

const MIDDLEWARE: Readonly<Record<string, preHandlerAsyncHookHandler>> = {
  authenticate: async (request, reply) => {
    if (request.headers.authorization === undefined) await reply.code(401).send({ error: 'Who are you?' });
  },
};

const application = fastify();
for (const { method, path, middleware, handler } of await registeredRoutes()) {
  const answer = entryNamed(HANDLERS, handler);
  application.route({
    method,
    url: path,
    preHandler: middleware.map((name) => entryNamed(MIDDLEWARE, name)),
    handler: async (request, reply) => reply.send(answer(request.params as Parameters)),
  });
}
console.log(
  `Listening on ${await application.listen({ host: '127.0.0.1', port: Number(process.env['PORT'] ?? 3_000) })}`,
);
