import type { RequestListener } from 'node:http';
import type { Request, Response, Router } from 'express';

/** Express's router as the listener of a plain HTTP server; unknown paths get 404. */
export function listener(router: Router): RequestListener {
  return (request, response) => {
    // The router uses nothing that Node's own objects lack.
    router(request as Request, response as Response, () => {
      response.writeHead(404).end();
    });
  };
}
