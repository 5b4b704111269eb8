import { createServer } from 'node:http';
import { announce } from './announce.js';

/** A collector that accepts all spans and discards them. */
announce(
  createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
    });
  }),
);
