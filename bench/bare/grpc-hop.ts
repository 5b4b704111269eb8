import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Metadata } from '@grpc/grpc-js';
import { type Request, type Response, Router } from 'express';
import { Route } from '../../src/gen/routing/v1/route_service.js';
import { routeOf } from '../stored-routes.js';
import { announce } from './announce.js';
import { ECHO_METHOD } from './echo-method.js';
import { plainClient } from './plain-client.js';

/**
 * A separate gateway in its plainest form. For each request, Express's router makes one unary grpc-js call,
 * over a single channel, to the echo server at the address in its argument, and returns the route in the reply as JSON.
 */
const client = plainClient(process.argv[2] ?? '');
const { path, requestSerialize, responseDeserialize } = ECHO_METHOD;
const message = Buffer.from(Route.encode(routeOf(0)).finish());

const router = Router();
router.get('/v1/routing/:route_id', (request: IncomingMessage, response: ServerResponse) => {
  const metadata = new Metadata();
  metadata.set('authorization', request.headers.authorization ?? '');
  client.makeUnaryRequest(path, requestSerialize, responseDeserialize, message, metadata, (error, reply) => {
    if (error !== null || reply === undefined) response.writeHead(502).end();
    else {
      const body = JSON.stringify(Route.decode(reply));
      response.writeHead(200, {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      });
      response.end(body);
    }
  });
});
announce(
  createServer((request, response) => {
    // The router uses nothing that Node's own objects lack.
    router(request as Request, response as Response, () => response.writeHead(404).end());
  }),
);
