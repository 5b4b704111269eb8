import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Gateway } from '../gateway/gateway.js';

/** How often connections that have become idle are closed while a server closes, in milliseconds. */
const SWEEP_MS = 50;

/** Starts an HTTP server and returns it with its real port. @throws Error when the address cannot be had */
export async function startHttpServer(
  gateway: Gateway,
  host: string,
  port: number,
): Promise<{ server: Server; port: number }> {
  // Node would answer a request without a host by itself, in a shape of its own.
  const server = createServer({ requireHostHeader: false }, gateway.onRequest)
    .on('clientError', gateway.onClientError)
    .on('connect', gateway.onConnect)
    // Node would answer an expectation that it does not know by itself; RFC 9110 lets a server ignore it.
    .on('checkExpectation', gateway.onRequest);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, host, () => {
      server.removeListener('error', reject);
      resolve();
    });
  });
  return { server, port: (server.address() as AddressInfo).port };
}

/** Answers what is under way, each as the last on its connection, and ends the others after `graceMs`. */
export async function closeHttpServer(server: Server, graceMs: number): Promise<void> {
  server.prependListener('request', (_request: unknown, response: ServerResponse) => {
    response.setHeader('Connection', 'close');
  });
  const sweep = setInterval(() => {
    server.closeIdleConnections();
  }, SWEEP_MS);
  const limit = setTimeout(() => {
    server.closeAllConnections();
  }, graceMs);
  await new Promise((resolve) => server.close(resolve));
  clearInterval(sweep);
  clearTimeout(limit);
}
