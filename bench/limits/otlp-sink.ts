import { createServer } from 'node:http';
import { announce } from './announce.js';

/** A collector that takes all spans and keeps none. */
announce(
  createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
    });
  }),
);
