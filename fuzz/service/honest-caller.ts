import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { credentials } from '@grpc/grpc-js';
import { percentile } from '../../bench/load/percentile.js';
import { RouteServiceClient } from '../../src/gen/routing/v1/route_service.js';
import { create, get, metadataOf } from '../../test/support/service.js';
import type { Ledger, ShownRoute } from '../ledger.js';
import { askRest } from '../stored-routes.js';
import { validDraft } from '../values/callers.js';
import { drawn } from '../values/draws.js';

const PAUSE_MS = 50;
const AFTER_FAILURE_MS = 1_000;
/** The timeout of gRPC calls. */
const SERVICE_CONFIG = {
  loadBalancingConfig: [],
  methodConfig: [{ name: [{ service: '' }], timeout: '10s' }],
};

/** The statistics of the well-behaved client. */
export interface HonestFigures {
  /** The number of routes that it created over one protocol and read over the other. */
  readonly served: number;
  /** The 99th percentile and the maximum of the times for these, in milliseconds. */
  readonly p99Ms: number;
  readonly maxMs: number;
}

/**
 * A well-behaved client that runs alongside the cases: it creates over one protocol and reads over the other. The
 * service must always serve it.
 */
export class HonestCaller {
  readonly #http: string;
  readonly #token: string;
  readonly #ledger: Ledger;
  readonly #client: RouteServiceClient;
  readonly #timesMs: number[] = [];
  readonly #working: Promise<void>;
  #stopped = false;

  constructor(
    { grpc, http }: { readonly grpc: string; readonly http: string },
    token: string,
    ledger: Ledger,
    onProblem: (problem: string) => void,
  ) {
    this.#http = http;
    this.#token = token;
    this.#ledger = ledger;
    const options = { 'grpc.service_config': JSON.stringify(SERVICE_CONFIG) };
    this.#client = new RouteServiceClient(grpc, credentials.createInsecure(), options);
    this.#working = this.#work(onProblem);
  }

  async stop(): Promise<HonestFigures> {
    this.#stopped = true;
    await this.#working;
    this.#client.close();
    const sorted = Float64Array.from(this.#timesMs).sort();
    return { served: sorted.length, p99Ms: percentile(sorted, 99), maxMs: sorted.at(-1) ?? 0 };
  }

  async #work(onProblem: (problem: string) => void): Promise<void> {
    while (!this.#stopped) {
      const begun = performance.now();
      try {
        await (this.#timesMs.length % 2 === 0 ? this.#fromRestToGrpc() : this.#fromGrpcToRest());
        this.#timesMs.push(performance.now() - begun);
      } catch (error) {
        onProblem(`The well-behaved client was not served: ${String(error)}`);
        await sleep(AFTER_FAILURE_MS);
      }
      await sleep(PAUSE_MS);
    }
  }

  async #fromRestToGrpc(): Promise<void> {
    const draft = drawn(validDraft, 0, this.#timesMs.length);
    const created = JSON.parse(await askRest(this.#http, this.#token, '/v1/routing', draft)) as ShownRoute;
    this.#ledger.acknowledge(created);
    const { error, route } = await get(this.#client, created.id, metadataOf(this.#token));
    if (error !== undefined) throw error;
    requireSame(created, { ...route, createdAt: route?.createdAt?.toISOString() });
  }

  async #fromGrpcToRest(): Promise<void> {
    const { middleware, ...draft } = drawn(validDraft, 0, this.#timesMs.length);
    const sent = { id: '', ...draft, middleware: [...middleware], createdAt: undefined };
    const request = { route: sent, requestId: '', validateOnly: false };
    const { error, route } = await create(this.#client, request, metadataOf(this.#token));
    if (error !== undefined || route === undefined) throw error ?? new Error('The response has no route.');
    const created = { ...route, createdAt: route.createdAt?.toISOString() ?? '' };
    this.#ledger.acknowledge(created);
    requireSame(created, JSON.parse(await askRest(this.#http, this.#token, `/v1/routing/${route.id}`)));
  }
}

function requireSame(one: unknown, other: unknown): void {
  if (!isDeepStrictEqual(one, other))
    throw new Error(`${JSON.stringify(one)} came back as ${JSON.stringify(other)}`);
}
