import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { setLogger } from '@grpc/grpc-js';
import { destination, type Logger } from 'pino';
import { type App, startApp } from './app.js';
import { containerOfThisProcess, firstSteps } from './run/first-steps.js';
import { openLogger } from './run/logger.js';
import { onStopSignals } from './run/stop-signals.js';
import { startProblem } from './run/terminal.js';
import { warnAtStart } from './run/warnings.js';
import { type Config, ConfigError, readConfig } from './settings/config.js';

/** How long shutdown waits for a slow or absent reader of the log, in milliseconds. */
const LOG_LIMIT_MS = 1_000;
/** The most text that may wait to be written to the log, in characters; more is dropped. */
const LOG_MAX_LENGTH = 4_194_304;
const USAGE = `Usage: node dist/main.js [--help]
From sources: npm start, or npm run dev
Runs the service until SIGTERM. Environment variables are its settings: docs/settings.md lists them.
`;

/** The log's destination, written asynchronously, so that a slow reader does not delay calls. */
const output = destination({ minLength: 0, maxLength: LOG_MAX_LENGTH });
// A failure to write the log, for example on a full disk or to a closed terminal, does not stop the service.
output.on('error', () => undefined);

/**
 * Runs the service until SIGTERM, SIGINT or SIGHUP. The exit code is 0 after an orderly shutdown, 1 if the service
 * cannot run or continue, and 128 plus the signal's number if a later signal cuts the shutdown short.
 */
async function main(): Promise<void> {
  const { values } = parseArgs({ options: { help: { type: 'boolean', short: 'h' } } });
  if (values.help === true) {
    process.stdout.write(USAGE);
    return;
  }
  const config = readConfig(process.env);
  const { logLevel: level, logFormat: format } = config;
  const logger = await openLogger(output, { level, format, terminal: process.stdout.isTTY });
  // grpc-js may log metadata, including tokens. Whenever one of its messages matters, a call or the start fails too.
  setLogger({ error: () => undefined });
  process.on('uncaughtException', (err, origin) => {
    logger.fatal({ err, origin }, 'uncaught error: exiting');
    end(1);
  });
  warnAtStart(config, process.env, logger);
  const stop = new AbortController();
  onStopSignals(
    (signal) => {
      logger.info({ signal }, 'stopping');
      stop.abort();
    },
    (signal, exitCode) => {
      logger.warn({ signal }, 'exiting before everything is closed');
      end(exitCode);
    },
  );
  const app = await startApp(config, { logger, stop: stop.signal }).catch((error: unknown) => {
    if (!stop.signal.aborted) throw error;
  });
  if (app === undefined) {
    endStopped(logger);
    return;
  }
  report(app, config, logger);
  if (!stop.signal.aborted) await once(stop.signal, 'abort');
  app.close().then(
    (inTime) => {
      if (!inTime) logger.warn('not everything could be closed in time');
      endStopped(logger);
    },
    (err: unknown) => {
      logger.error({ err }, 'not everything could be closed');
      end(1);
    },
  );
}

function endStopped(logger: Logger): void {
  logger.info('stopped');
  end(0);
}

function report(app: App, { grpc, http, limits }: Config, logger: Logger): void {
  logger.info({ grpc: app.grpcAddress, http: app.httpUrl, ops: app.opsUrl, limits }, 'listening');
  const key = grpc?.tokens.key;
  if (key?.kind === 'local')
    logger.info({ secretFile: key.file }, 'local mode: tokens are verified with a locally generated secret');
  // First steps are for a local start: in production nobody reads them, and a collector may take stderr for log lines.
  if (key?.kind !== 'local' && process.env['npm_lifecycle_event'] === undefined) return;
  const places = { ...app, docs: http?.docs === true };
  process.stderr.write(firstSteps(places, grpc?.tokens, containerOfThisProcess(process.env)));
}

/** Reports a failed start without a stack trace, which does not help with a wrong setting. */
function fail(error: unknown): void {
  const message = startProblem(error);
  if (error instanceof ConfigError) process.stderr.write(`${message}\n`);
  else process.stderr.write(`The service cannot start: ${message}\n`);
  end(1);
}

/** Exits once the log is written; `process.exit` alone would lose the lines that are still being written. */
function end(exitCode: number): void {
  const exit = (): void => process.exit(exitCode);
  output.once('drain', exit).write('');
  setTimeout(() => {
    // Otherwise pino would retry writing the rest forever.
    output.destroy();
    exit();
  }, LOG_LIMIT_MS);
}

main().catch(fail);
