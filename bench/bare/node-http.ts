import { createServer } from 'node:http';
import { routeOf } from '../stored-routes.js';
import { announce } from './announce.js';

const ROUTE = routeOf(0);

/** The least that answers over HTTP: `node:http` and one JSON text for each request, whatever its path. */
announce(
  createServer((_request, response) => {
    const body = JSON.stringify(ROUTE);
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    });
    response.end(body);
  }),
);
