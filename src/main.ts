import { setLogger } from '@grpc/grpc-js';
import { destination, pino } from 'pino';
import { startApp } from './app.js';
import { ConfigError, readConfig } from './settings/config.js';
import { localModeHint } from './process/local-mode-hint.js';

/** The longest time that shutdown waits for a slow or absent reader of the log, in milliseconds. */
const LOG_LIMIT_MS = 1_000;
/** The log's destination. A thread writes it, so that a slow reader does not delay calls. */
const output = destination();

/** Runs the service until SIGTERM or SIGINT. Exit code 0 after an orderly shutdown, 1 when it cannot run. */
async function main(): Promise<void> {
  const config = readConfig(process.env);
  const logger = pino({ level: config.logLevel }, output);
  // grpc-js would write these lines to stderr; where one matters, the call or the start fails as well.
  setLogger({
    error: (line: unknown) => {
      logger.debug({ line }, 'grpc-js');
    },
  });
  const app = await startApp(config, { logger });
  const stop = (signal: NodeJS.Signals): void => {
    logger.info({ signal }, 'stopping');
    app.close().then(
      (inTime) => {
        if (!inTime) logger.warn('not everything could be closed in time');
        logger.info('stopped');
        end(0);
      },
      (err: unknown) => {
        logger.error({ err }, 'not everything could be closed');
        end(1);
      },
    );
  };
  process.once('SIGTERM', stop).once('SIGINT', stop);

  logger.info({ grpc: app.grpcAddress, http: app.httpUrl, limits: config.limits }, 'listening');
  if (config.grpc?.tokens.key.kind === 'local') {
    logger.info(
      { secretFile: config.grpc.tokens.key.file },
      'local mode: tokens are verified with a locally generated secret',
    );
    process.stderr.write(localModeHint(app));
  }
}

/** Reports a failed start in words; a stack would not help with a wrong setting. */
function fail(error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(
    error instanceof ConfigError ? `${message}\n` : `The service cannot start: ${message}\n`,
  );
  end(1);
}

/** Exits once the log is written; `process.exit` alone would lose the lines that the thread still holds. */
function end(exitCode: number): void {
  const exit = (): void => process.exit(exitCode);
  output.once('drain', exit).write('');
  setTimeout(exit, LOG_LIMIT_MS);
}

main().catch(fail);
