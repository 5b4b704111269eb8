import { createServer } from 'node:http';
import express from 'express';
import { routeOf } from '../stored-routes.js';
import { announce } from './announce.js';

const ROUTE = routeOf(0);

/** The usual starting point: an Express app with one JSON route, no database, no authentication. */
const app = express();
app.get('/v1/routing/:route_id', (_request, response) => {
  response.json(ROUTE);
});
announce(createServer(app));
