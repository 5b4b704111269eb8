import type { Logger } from 'pino';
import { isLoopback, splitAddress } from '../settings/addresses.js';
import type { Config } from '../settings/config.js';
import { ignoredSettings } from '../settings/ignored-settings.js';

/** Since nghttp2 1.69, a PING of a wrong length after GOAWAY and HEADERS ends the connection and not the process. */
const FIXED_MINOR = 69;

/** Whether a client can abort a process with this nghttp2 by three HTTP/2 frames (nghttp2's pull request 2509). */
export function canBeAborted(nghttp2 = process.versions['nghttp2'] ?? ''): boolean {
  const [major, minor = 0] = nghttp2.split('.').map(Number);
  return major === 1 && minor < FIXED_MINOR;
}

/** Logs what an operator should know before the service starts. */
export function warnAtStart({ grpc }: Config, env: NodeJS.ProcessEnv, logger: Logger): void {
  if (grpc?.database.engine === 'mysql' && grpc.database.exposed)
    logger.warn(
      'no TLS to the database: anybody on the network path can read everything and obtain the password',
    );
  if (grpc !== undefined && isExposed(grpc.address) && canBeAborted())
    logger.warn(
      { node: process.versions.node, nghttp2: process.versions['nghttp2'] },
      'anybody who reaches the gRPC port can abort this process through a fault in the HTTP/2 of this Node: use 22.23.3, 24.21 or later',
    );
  const settings = ignoredSettings(env);
  if (settings.length > 0) logger.warn({ settings }, 'variables that look like settings have no effect');
}

/** Whether another machine may reach a server on this address. */
function isExposed(grpcAddress: string): boolean {
  const tcp = splitAddress(grpcAddress);
  return tcp !== undefined && !isLoopback(tcp.host);
}
