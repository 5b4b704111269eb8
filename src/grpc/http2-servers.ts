import { EventEmitter } from 'node:events';
import type { Http2Server } from 'node:http2';
import type { Server } from '@grpc/grpc-js';

/**
 * The HTTP/2 servers of a listening server. This is the only code that reads a private field (decision 18): no
 * public API gives a call's headers as received, or its connection.
 *
 * @throws Error if the installed grpc-js does not keep them as the keys of a Map
 */
export function http2ServersOf(server: Server): Http2Server[] {
  return serversIn(server['http2Servers']);
}

/** @throws Error if these are not the keys of a Map */
export function serversIn(http2Servers: unknown): Http2Server[] {
  const keys: unknown[] = http2Servers instanceof Map ? [...http2Servers.keys()] : [];
  const servers = keys.filter(isHttp2Server);
  if (servers.length > 0 && servers.length === keys.length) return servers;
  throw new Error(
    'The installed version of @grpc/grpc-js is not the one that this service is built for: it keeps its HTTP/2 servers elsewhere. Install the version in package-lock.json.',
  );
}

function isHttp2Server(value: unknown): value is Http2Server {
  return value instanceof EventEmitter && value.listenerCount('session') > 0;
}
