import { MEMBER } from './library-server.js';
import type { HttpRequest } from './http-request.js';

/**
 * A request with the credentials of a member.
 *
 * @param body sent as JSON, or as it is if a string. Default: no body.
 * @param headers further ones, which replace the usual ones.
 */
export function memberRequest(
  method: string,
  path: string,
  body?: unknown,
  headers: HttpRequest['headers'] = {},
): HttpRequest {
  const authorized = { authorization: MEMBER, ...headers };
  if (body === undefined) return { method, path, headers: authorized };
  return {
    method,
    path,
    headers: { 'content-type': 'application/json', ...authorized },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  };
}
