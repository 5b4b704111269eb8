/** Serves the routes of the manifest with Express 5. Its token needs the scope `routes:read`. `PORT`: default 3000. */
import express, { type RequestHandler } from 'express';
import { registeredRoutes } from './registry.js';
import { HANDLERS, entryNamed } from './routes.js';

const MIDDLEWARE: Readonly<Record<string, RequestHandler>> = {
  authenticate: (request, response, next) => {
    if (request.headers.authorization === undefined) response.status(401).json({ error: 'Who are you?' });
    else next();
  },
};

const VERBS = { GET: 'get', POST: 'post', PUT: 'put', DELETE: 'delete' } as const;

const application = express();
for (const { method, path, middleware, handler } of await registeredRoutes()) {
  const answer = entryNamed(HANDLERS, handler);
  application[entryNamed<'get' | 'post' | 'put' | 'delete'>(VERBS, method)](
    path,
    ...middleware.map((name) => entryNamed(MIDDLEWARE, name)),
    (request, response) => {
      response.json(answer(request.params));
    },
  );
}
const port = Number(process.env['PORT'] ?? 3_000);
application.listen(port, '127.0.0.1', (error) => {
  if (error) throw error;
  console.log(`Listening on http://127.0.0.1:${port}`);
});
