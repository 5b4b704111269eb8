import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import type { ReadinessReport } from './readiness.js';

/** The most open connections: enough for a scraper, some probes and people. */
const MAX_CONNECTIONS = 64;
const PATIENCE_MS = 5_000;
/** How many times connections are checked within `patienceMs`. */
const CHECKS = 10;
/** How long a rendering that several requests have waited for serves later ones, in milliseconds. */
const KEPT_MS = 1_000;

/** The content of the operators' pages. */
export interface OpsPages {
  readiness(): ReadinessReport;
  readonly metrics: {
    /** All metrics in the text format of Prometheus. */
    text(): Promise<string>;
    readonly contentType: string;
  };
}

/** A running listener for operators. */
interface OpsServer {
  /** The actual port. */
  readonly port: number;
  /** Stops the listener and closes every connection. */
  close(): Promise<void>;
}

interface Page {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/**
 * Starts the operators' listener, which must not be public: `GET /metrics`, `/livez` (the process alone) and `/readyz`.
 *
 * @param patienceMs how long a request may take to arrive, and how long a connection may be stuck or idle, in
 *   milliseconds
 * @throws Error when it cannot listen on the address
 */
export async function startOpsServer(
  host: string,
  port: number,
  pages: OpsPages,
  patienceMs = PATIENCE_MS,
): Promise<OpsServer> {
  const page = pagesOf(pages);
  const server = createServer(
    {
      maxHeaderSize: 8_192,
      headersTimeout: patienceMs,
      requestTimeout: patienceMs,
      keepAliveTimeout: patienceMs,
      connectionsCheckingInterval: patienceMs / CHECKS,
    },
    (request, response) => {
      void Promise.resolve(answerTo(request, page)).then((answer) => {
        write(response, answer);
      });
    },
  );
  server.maxConnections = MAX_CONNECTIONS;
  server.timeout = patienceMs;
  await once(server.listen(port, host), 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.close().closeAllConnections();
      await once(server, 'close');
    },
  };
}

type Pages = ReadonlyMap<string, () => Page | Promise<Page>>;

/**
 * Shares a rendering, which costs as much as many calls, among concurrent requests. A rendering that several requests
 * have waited for also serves those of the next second, so that a loop of requests leaves the calls their time; a
 * single scraper always gets fresh values.
 */
export function shareRendering<T>(render: () => Promise<T>): () => Promise<T> {
  let shared: Promise<T> | undefined;
  let requests = 0;
  const forget = (): void => {
    shared = undefined;
    requests = 0;
  };
  const keep = (): void => {
    if (requests > 1) setTimeout(forget, KEPT_MS).unref();
    else forget();
  };
  return () => {
    requests += 1;
    if (shared === undefined) {
      // At the end of the turn: a rendering takes no turn of its own, so requests read in this one would not share it.
      shared = turn().then(render);
      shared.then(keep, forget);
    }
    return shared;
  };
}

function pagesOf(shown: OpsPages): Pages {
  const { metrics } = shown;
  return new Map<string, () => Page | Promise<Page>>([
    ['/livez', () => json(200, { status: 'alive' })],
    [
      '/readyz',
      () => {
        const report = shown.readiness();
        return json(report.status === 'ready' ? 200 : 503, report);
      },
    ],
    [
      '/metrics',
      shareRendering(async () => ({
        status: 200,
        contentType: metrics.contentType,
        body: await metrics.text(),
      })),
    ],
  ]);
}

const NOT_FOUND = json(404, { error: 'There are /metrics, /livez and /readyz.' });
const NOT_ALLOWED = json(405, { error: 'Only GET and HEAD are allowed.' });
const FAILED = json(500, { error: 'The metrics cannot be read.' });

function answerTo({ method, url = '' }: IncomingMessage, pages: Pages): Page | Promise<Page> {
  const [path = ''] = url.split('?');
  const page = pages.get(path);
  if (page === undefined) return NOT_FOUND;
  if (method !== 'GET' && method !== 'HEAD') return NOT_ALLOWED;
  const answer = page();
  return answer instanceof Promise ? answer.catch(() => FAILED) : answer;
}

function json(status: number, body: object): Page {
  return { status, contentType: 'application/json', body: `${JSON.stringify(body)}\n` };
}

function write(response: ServerResponse, { status, contentType, body }: Page): void {
  response
    .setHeader('Content-Type', contentType)
    .setHeader('Content-Length', Buffer.byteLength(body))
    .setHeader('Cache-Control', 'no-store');
  if (status === 405) response.setHeader('Allow', 'GET, HEAD');
  // No request body is read, so a connection that carries one is not reused.
  if (hasBody(response.req)) response.setHeader('Connection', 'close');

  response.writeHead(status).end(body);
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
}
