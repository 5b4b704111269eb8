import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from './free-port.js';
import { identifyMysqlServer } from './mysql-databases.js';
import { watch, type Watch } from './mysql-watchdog.js';

const ATTEMPTS = 3;
const PATIENCE_MS = 120_000;
const POLL_MS = 50;

/** A server that this run started. */
export interface RunningMysqlServer {
  /** `mysql://user:password@127.0.0.1:port`, for a user with all privileges. */
  readonly url: string;
  /** Stops the server and removes its data. */
  stop(): Promise<void>;
}

/** How to start one server. */
export interface Launch extends Watch {
  /** The URL of the server: `mysql://user:password@127.0.0.1:port`. */
  readonly url: string;
}

async function answering(url: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    try {
      await identifyMysqlServer(url);
      return;
    } catch {
      await delay(POLL_MS, undefined, { signal });
    }
  }
}

/**
 * Starts a server on a free loopback port and waits until it responds. Another process may take the port in between, so
 * the start is tried three times. That process may even be a server, so the password in the URL must be unique to the
 * run.
 *
 * @throws Error with the last output of the server
 */
export async function launchMysqlServer(
  prepare: (port: number) => Promise<Launch>,
): Promise<RunningMysqlServer> {
  let lastWords = '';
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const { url, ...work } = await prepare(await freePort());
    const watchdog = watch(work);
    const waiting = new AbortController();
    const timeout = AbortSignal.timeout(PATIENCE_MS);
    try {
      const up = answering(url, AbortSignal.any([waiting.signal, timeout])).then(() => true as const);
      const outcome = await Promise.race([up, watchdog.ended]);
      if (outcome === true) return { url, stop: () => watchdog.stop() };
      lastWords = outcome;
    } catch (error) {
      await watchdog.stop();
      throw new Error(`no answer within ${PATIENCE_MS / 1000} s: ${await watchdog.ended}`, { cause: error });
    } finally {
      waiting.abort();
    }
  }
  throw new Error(lastWords.trim());
}
