import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Router } from 'express';
import { routeOf } from '../stored-routes.js';
import { announce } from './announce.js';
import { listener } from './router-listener.js';

const ROUTE = routeOf(0);

/** The limit of the REST face: Express's router on Node's own HTTP server, without the app. */
const router = Router();
router.get('/v1/routing/:route_id', (_request: IncomingMessage, response: ServerResponse) => {
  const body = JSON.stringify(ROUTE);
  response.writeHead(200, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  });
  response.end(body);
});
announce(createServer(listener(router)));
