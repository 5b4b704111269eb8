import { isDeepStrictEqual } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { credentials } from '@grpc/grpc-js';
import { percentile } from '../../bench/load/percentile.js';
import { RouteServiceClient } from '../../src/gen/routing/v1/route_service.js';
import { create, get, metadataOf } from '../../test/support/service.js';
import type { Ledger, ShownRoute } from '../ledger.js';
import { type RouteDraft, validDraft } from '../values/callers.js';
import { drawn } from '../values/draws.js';

const PAUSE_MS = 50;
const CALL_LIMIT_MS = 10_000;
const AFTER_FAILURE_MS = 1_000;
/** The limit for calls of gRPC. */
const SERVICE_CONFIG = {
  loadBalancingConfig: [],
  methodConfig: [{ name: [{ service: '' }], timeout: `${CALL_LIMIT_MS / 1_000}s` }],
};

/** Figures of an honest caller. */
export interface HonestFigures {
  /** Routes that it created on one face and read on the other. */
  readonly served: number;
  /** How long 99 of 100 of these took at most, and the longest, in milliseconds. */
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** An ordinary client that goes on beside the cases: it creates on one face, reads on the other, and is always served. */
export class HonestCaller {
  readonly #target: { readonly grpc: string; readonly http: string };
  readonly #token: string;
  readonly #ledger: Ledger;
  readonly #onProblem: (problem: string) => void;
  readonly #client: RouteServiceClient;
  readonly #timesMs: number[] = [];
  readonly #working: Promise<void>;
  #stopped = false;

  constructor(
    target: { readonly grpc: string; readonly http: string },
    token: string,
    ledger: Ledger,
    onProblem: (problem: string) => void,
  ) {
    this.#target = target;
    this.#token = token;
    this.#ledger = ledger;
    this.#onProblem = onProblem;
    this.#client = new RouteServiceClient(target.grpc, credentials.createInsecure(), {
      'grpc.service_config': JSON.stringify(SERVICE_CONFIG),
    });
    this.#working = this.#work();
  }

  async stop(): Promise<HonestFigures> {
    this.#stopped = true;
    await this.#working;
    this.#client.close();
    const sorted = Float64Array.from(this.#timesMs).sort();
    return { served: sorted.length, p99Ms: percentile(sorted, 99), maxMs: sorted.at(-1) ?? 0 };
  }

  async #work(): Promise<void> {
    while (!this.#stopped) {
      const begun = performance.now();
      try {
        await (this.#timesMs.length % 2 === 0 ? this.#fromRestToGrpc() : this.#fromGrpcToRest());
        this.#timesMs.push(performance.now() - begun);
      } catch (error) {
        this.#onProblem(`An honest caller was not served: ${String(error)}`);
        await sleep(AFTER_FAILURE_MS);
      }
      await sleep(PAUSE_MS);
    }
  }

  async #fromRestToGrpc(): Promise<void> {
    const body = JSON.stringify(this.#draft());
    const created = await this.#rest('/v1/routing', { method: 'POST', body });
    this.#ledger.acknowledge(created);
    const { error, route } = await get(this.#client, created.id, metadataOf(this.#token));
    if (error !== undefined) throw error;
    requireSame(created, { ...route, createdAt: route?.createdAt?.toISOString() });
  }

  async #fromGrpcToRest(): Promise<void> {
    const draft = { id: '', ...this.#draft(), createdAt: undefined };
    const request = { route: draft, requestId: '', validateOnly: false };
    const { error, route } = await create(this.#client, request, metadataOf(this.#token));
    if (error !== undefined || route === undefined) throw error ?? new Error('There is no route.');
    const created = { ...route, createdAt: route.createdAt?.toISOString() ?? '' };
    this.#ledger.acknowledge(created);
    requireSame(created, await this.#rest(`/v1/routing/${route.id}`, { method: 'GET' }));
  }

  #draft(): RouteDraft & { middleware: string[] } {
    const draft = drawn(validDraft, 0, this.#timesMs.length);
    return { ...draft, middleware: [...draft.middleware] };
  }

  async #rest(path: string, init: RequestInit): Promise<ShownRoute> {
    const response = await fetch(`http://${this.#target.http}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${this.#token}`, 'content-type': 'application/json' },
      signal: AbortSignal.timeout(CALL_LIMIT_MS),
    });
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
    return (await response.json()) as ShownRoute;
  }
}

function requireSame(one: unknown, other: unknown): void {
  if (!isDeepStrictEqual(one, other))
    throw new Error(`${JSON.stringify(one)} came back as ${JSON.stringify(other)}`);
}
