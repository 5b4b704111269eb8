import type { Logger } from 'pino';
import { ignoredSettings, isLoopback, splitAddress } from '../settings/reader.js';
import type { Config } from '../settings/config.js';
import { abortsAfterSessionError, abortsAtPing } from './http2-faults.js';

/** Logs what an operator should know before the service starts. */
export function warnAtStart({ grpc }: Config, env: NodeJS.ProcessEnv, logger: Logger): void {
  if (grpc?.database.engine === 'mysql' && grpc.database.exposed)
    logger.warn(
      'no TLS to the database: anybody on the network path can read everything and obtain the password',
    );
  if (grpc !== undefined && isExposed(grpc.address) && (abortsAtPing() || abortsAfterSessionError()))
    logger.warn(
      { node: process.versions.node, nghttp2: process.versions['nghttp2'] },
      'anybody who reaches the gRPC port can abort this process through a fault in the HTTP/2 of this Node: use 24.21, 26.10 or later',
    );
  const settings = ignoredSettings(env);
  if (settings.length > 0) logger.warn({ settings }, 'variables that look like settings have no effect');
}

/** Whether another machine may reach a server on this address. */
function isExposed(grpcAddress: string): boolean {
  const tcp = splitAddress(grpcAddress);
  return tcp !== undefined && !isLoopback(tcp.host);
}
