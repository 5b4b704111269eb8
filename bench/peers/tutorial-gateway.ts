import { createServer } from 'node:http';
import { credentials, Metadata, type requestCallback, status } from '@grpc/grpc-js';
import express, { type Request, type Response } from 'express';
import { type Route, RouteServiceClient } from '../../src/gen/routing/v1/route_service.js';
import { announce } from '../bare/announce.js';

/** The REST gateway as in a tutorial: an Express app that calls the gRPC server at the address in its argument. */
const client = new RouteServiceClient(process.argv[2] ?? '', credentials.createInsecure());

const HTTP_STATUS: Readonly<Partial<Record<status, number>>> = {
  [status.INVALID_ARGUMENT]: 400,
  [status.UNAUTHENTICATED]: 401,
  [status.PERMISSION_DENIED]: 403,
  [status.NOT_FOUND]: 404,
};

const app = express();
app.use(express.json());
app.get('/v1/routing/:id', (request, response) => {
  client.getRoute({ routeId: request.params.id }, metadataOf(request), answerTo(response, 200));
});
app.post('/v1/routing', (request: Request<object, object, Partial<Route>>, response) => {
  const { method = '', path = '', middleware = [], handler = '' } = request.body;
  const route = { id: '', method, path, middleware, handler, createdAt: undefined };
  const create = { route, requestId: '', validateOnly: false };
  client.createRoute(create, metadataOf(request), answerTo(response, 201));
});

function metadataOf({ headers }: Pick<Request, 'headers'>): Metadata {
  const metadata = new Metadata();
  if (headers.authorization !== undefined) metadata.set('authorization', headers.authorization);
  return metadata;
}

function answerTo(response: Response, good: number): requestCallback<Route> {
  return (error, route) => {
    if (error === null) response.status(good).json(route);
    else response.status(HTTP_STATUS[error.code] ?? 500).json({ error: error.details });
  };
}

announce(createServer(app));
