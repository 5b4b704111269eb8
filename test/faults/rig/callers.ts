import { Agent, type IncomingMessage, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { credentials, status } from '@grpc/grpc-js';
import { onTestFinished } from 'vitest';
import { percentile } from '../../../bench/load/percentile.js';
import { RouteServiceClient } from '../../../src/gen/routing/v1/route_service.js';
import { create, metadataOf, routeTo, tokenFor } from '../../support/service.js';

const CALL_LIMIT_MS = 10_000;
/** How long a caller that insists retries its last create after the stop, in milliseconds. */
const INSIST_MS = 20_000;
const RETRY_MS = 50;
let runs = 0;

/** The outcome of one create. */
export interface Create {
  /** The unique handler of its route. */
  readonly handler: string;
  readonly protocol: Protocol;
  /** The name of the gRPC status, the HTTP status, or the word `lost`; `OK` and `201` are good. */
  readonly end: string;
  /** The time since the first attempt, and the time of its end by `performance.now()`, in milliseconds. */
  readonly ms: number;
  readonly endedAt: number;
}

export type Protocol = 'grpc' | 'rest';

/** Options of {@link Callers}. */
interface CallersOptions {
  /** `host:port` of the gRPC server, and the base URL of the REST gateway. */
  readonly grpc: string;
  readonly http: string;
  /** The number of callers over each protocol; each has one create under way. */
  readonly each: number;
  /** The pause after each create, in milliseconds; default: 5. */
  readonly pauseMs?: number;
  /** Whether creates carry request ids, and are retried until they succeed; default: false. */
  readonly insist?: boolean;
  readonly sub?: string;
}

/** Callers in this process that create routes over gRPC and REST until they are stopped or the test ends. */
export class Callers {
  readonly creates: Create[] = [];
  readonly #options: CallersOptions;
  readonly #client: RouteServiceClient;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #token: string;
  readonly #run = `${process.pid}x${runs++}x${Date.now()}`;
  readonly #working: Promise<unknown>;
  #stoppedAt = Number.POSITIVE_INFINITY;
  #next = 0;

  constructor(options: CallersOptions) {
    this.#options = options;
    const channel = { 'grpc.initial_reconnect_backoff_ms': 100, 'grpc.max_reconnect_backoff_ms': 200 };
    this.#client = new RouteServiceClient(options.grpc, credentials.createInsecure(), channel);
    this.#token = tokenFor({ sub: options.sub ?? 'honest', exp: Math.floor(Date.now() / 1_000) + 3_600 });
    const protocols = Array.from({ length: options.each }, () => ['grpc', 'rest'] as const).flat();
    this.#working = Promise.all(protocols.map((protocol) => this.#work(protocol)));
    onTestFinished(async () => {
      await this.stop();
    });
  }

  /** Stops the callers; resolves when their last creates have ended. */
  async stop(): Promise<readonly Create[]> {
    this.#stoppedAt = Math.min(this.#stoppedAt, performance.now());
    await this.#working;
    this.#client.close();
    this.#agent.destroy();
    return this.creates;
  }

  async #work(protocol: Protocol): Promise<void> {
    while (performance.now() < this.#stoppedAt) {
      const handler = `h${this.#run}n${this.#next++}`;
      const begunAt = performance.now();
      const end = await this.#create(protocol, handler);
      const endedAt = performance.now();
      this.creates.push({ handler, protocol, end, ms: endedAt - begunAt, endedAt });
      await sleep(this.#options.pauseMs ?? 5);
    }
  }

  async #create(protocol: Protocol, handler: string): Promise<string> {
    const attempt = protocol === 'grpc' ? this.#overGrpc.bind(this) : this.#overRest.bind(this);
    if (this.#options.insist !== true) return attempt(handler, '');
    let end = await attempt(handler, handler);
    while (!isGood(end) && performance.now() < this.#stoppedAt + INSIST_MS) {
      await sleep(RETRY_MS);
      end = await attempt(handler, handler);
    }
    return end;
  }

  async #overGrpc(handler: string, requestId: string): Promise<string> {
    const route = routeTo(handler);
    const metadata = metadataOf(this.#token);
    const { error } = await create(this.#client, { route, requestId, validateOnly: false }, metadata);
    return status[error?.code ?? status.OK];
  }

  #overRest(handler: string, requestId: string): Promise<string> {
    const headers = {
      authorization: `Bearer ${this.#token}`,
      'content-type': 'application/json',
      ...(requestId === '' ? {} : { 'idempotency-key': requestId }),
    };
    return new Promise((resolve) => {
      const options = { method: 'POST', agent: this.#agent, headers, timeout: CALL_LIMIT_MS };
      const sent = request(`${this.#options.http}/v1/routing`, options, (response) => {
        response.resume().on('end', () => {
          resolve(endOf(response));
        });
        response.on('error', () => {
          resolve('lost');
        });
      });
      sent
        .on('timeout', () => sent.destroy())
        .on('error', () => {
          resolve('lost');
        });
      sent.end(JSON.stringify({ method: 'GET', path: `/${handler}`, handler }));
    });
  }
}

/** The HTTP status, with a note if a 429 or 503 has no Retry-After. */
function endOf({ statusCode = 0, headers }: IncomingMessage): string {
  const mustSay = statusCode === 429 || statusCode === 503;
  return `${statusCode}${mustSay && headers['retry-after'] === undefined ? ' without Retry-After' : ''}`;
}

/** Whether a create was acknowledged. */
export function isGood(end: string): boolean {
  return end === 'OK' || end === '201';
}

/** The number of acknowledged creates, the 99th percentile of their times, and the outcomes of the others. */
export function summary(creates: readonly Create[]): {
  good: number;
  bad: Record<string, number>;
  p99Ms: number;
} {
  const good = creates.filter(({ end }) => isGood(end));
  const bad: Record<string, number> = {};
  for (const { end } of creates.filter((create) => !isGood(create.end))) bad[end] = (bad[end] ?? 0) + 1;
  return { good: good.length, bad, p99Ms: percentile(Float64Array.from(good, ({ ms }) => ms).sort(), 99) };
}
