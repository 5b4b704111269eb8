import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import type { Monitor } from './monitor.js';

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
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}

type Pages = ReadonlyMap<string, () => Page | Promise<Page>>;

/**
 * Shares a rendering, which costs as much as many calls, among concurrent requests. One that several of them have waited
 * for also serves those of the next second, so that a loop of requests leaves the calls their time; a single scraper
 * always gets fresh values.
 */
function sharing(render: () => Promise<Page>): () => Promise<Page> {
  let shared: Promise<Page> | undefined;
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
      sharing(async () => ({ status: 200, contentType: metrics.contentType, body: await metrics.text() })),
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
  response.writeHead(status, {
    'Content-Type': contentType,
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-store',
    ...(status === 405 && { Allow: 'GET, HEAD' }),
    // No request body is read, so a connection that carries one is not reused.
    ...(hasBody(response.req) && { Connection: 'close' }),
  });
  response.end(body);
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
}

/** The state of a check. */
export interface CheckState {
  readonly ok: boolean;
  /** `starting` before the first outcome; then, for a watched dependency, `up` or `down`. */
  readonly state: string;
}

/** The readiness of a process, as in `/readyz`. */
export interface ReadinessReport {
  readonly status: 'ready' | 'not ready' | 'starting' | 'draining';
  readonly checks: Readonly<Record<string, CheckState>>;
}

const STARTING: CheckState = { ok: false, state: 'starting' };

/**
 * Whether the process should receive requests. The report contains only what is already known, so a dependency that
 * hangs does not delay it.
 */
export class Readiness {
  readonly #checks: Map<string, () => CheckState>;
  #phase: 'starting' | 'running' | 'draining' = 'starting';

  /** @param names the checks that must be added and pass */
  constructor(names: readonly string[]) {
    this.#checks = new Map(names.map((name) => [name, () => STARTING]));
  }

  /** Adds a check that passes while the watched dependency works. */
  watch(name: string, monitor: Pick<Monitor, 'well'>): void {
    this.#checks.set(name, () => {
      const { well } = monitor;
      return well === undefined ? STARTING : { ok: well, state: well ? 'up' : 'down' };
    });
  }

  /** Adds a check that has passed and cannot fail later. */
  pass(name: string, state: string): void {
    this.#checks.set(name, () => ({ ok: true, state }));
  }

  /** Marks the servers as listening. */
  run(): void {
    this.#phase = 'running';
  }

  /** Marks the process as about to stop, which cannot be undone. */
  drain(): void {
    this.#phase = 'draining';
  }

  get draining(): boolean {
    return this.#phase === 'draining';
  }

  get report(): ReadinessReport {
    const checks: Record<string, CheckState> = {
      process: { ok: this.#phase === 'running', state: this.#phase },
    };
    for (const [name, look] of this.#checks) checks[name] = look();
    const ready = Object.values(checks).every(({ ok }) => ok);
    const status = this.#phase === 'running' ? (ready ? 'ready' : 'not ready') : this.#phase;
    return { status, checks };
  }
}
