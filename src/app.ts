import { startGrpc } from './run/grpc-server.js';
import { openOperations } from './run/operations.js';
import type { SharedParts, Dependencies } from './run/shared-parts.js';
import { startRestGateway } from './run/rest-gateway.js';
import { startTracing } from './run/tracing.js';
import { CallLog } from './calls/call-log.js';
import { Closing } from './run/closing.js';
import { followTls } from './run/follow-tls.js';
import type { Config } from './settings/config.js';

/** The running service. */
export interface App {
  /** The address of the gRPC server, with its actual port; absent when it does not run. */
  readonly grpcAddress: string | undefined;
  /** The base URL of all REST paths; absent when the gateway does not run. */
  readonly httpUrl: string | undefined;
  /** The base URL of the operators' pages; absent when they are off. */
  readonly opsUrl: string | undefined;
  /**
   * Reports not serving, keeps serving for `drainDelayMs`, then accepts no new work, completes the calls in progress
   * and closes everything: the servers, then the database, then the followed files, the span queue and the operators'
   * listener. Resolves within eight seconds after the delay, to whether everything was closed in that time.
   *
   * @throws AggregateError with everything that failed to close, after the rest is closed
   */
  close(): Promise<boolean>;
}

/**
 * Opens the parts of the service and connects them.
 *
 * @throws Error when a part cannot be opened; everything opened before it is closed again
 */
export async function startApp(config: Config, dependencies: Dependencies): Promise<App> {
  const { logger } = dependencies;
  const closing = new Closing();
  const callLog = new CallLog(logger, config.accessLog);
  const opened = { ...dependencies, config, closing, callLog };
  try {
    const operations = await openOperations(config, opened);
    const tracing = config.traces ? await startTracing(opened) : undefined;
    const tls =
      config.tls &&
      (await followTls('TLS_CERT_FILE, TLS_KEY_FILE or TLS_CLIENT_CA_FILE', config.tls, opened));
    const parts: SharedParts = { ...opened, operations, tls, tracing };
    const grpc = config.grpc && (await startGrpc(config.grpc, parts));
    const httpUrl = config.http && (await startRestGateway(config.http, grpc?.pipeline, parts));
    const log = (step: string, ms: number): void => {
      logger.info({ ms }, step);
    };
    const close = (): Promise<boolean> => {
      operations.readiness.drain();
      return closing.close({ drainMs: config.drainDelayMs, log });
    };
    operations.readiness.run();
    return { grpcAddress: grpc?.address, httpUrl, opsUrl: operations.url, close };
  } catch (error) {
    await closing.close().catch((err: unknown) => {
      logger.error({ err }, 'not everything could be closed');
    });
    throw error;
  }
}
