import { connect as connectTcp } from 'node:net';
import { connect } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { credentials } from '@grpc/grpc-js';
import { onTestFinished } from 'vitest';
import { RouteServiceClient } from '../../../src/gen/routing/v1/route_service.js';
import { framed, outcomeOf, requestOn } from '../../support/http2-call.js';
import { create, get, metadataOf, tokenFor } from '../../support/service.js';
import type { ServiceProcess } from './service-process.js';

const PAUSE_MS = 10;
const CREATE = '/routing.v1.RouteService/CreateRoute';
const REQUEST = {
  route: { id: '', method: 'GET', path: '/mixed', middleware: ['a'], handler: 'mixed', createdAt: undefined },
  requestId: '',
  validateOnly: false,
};

/** A load of valid, invalid, cancelled and unfinished requests, which repeats until it stops or the test ends. */
export class MixedLoad {
  readonly #service: ServiceProcess;
  readonly #client: RouteServiceClient;
  readonly #authorization: string;
  readonly #counts: Record<string, number> = {};
  readonly #working: Promise<unknown>;
  #stopped = false;

  constructor(service: ServiceProcess) {
    this.#service = service;
    this.#client = new RouteServiceClient(service.grpc, credentials.createInsecure());
    this.#authorization = tokenFor({ exp: Math.floor(Date.now() / 1_000) + 3_600 });
    this.#working = Promise.all([
      this.#repeat('created and got', () => this.#createAndGet()),
      this.#repeat('nonsense over REST', () => this.#nonsenseOverRest()),
      this.#repeat('nonsense over gRPC', () => this.#nonsenseOverGrpc()),
      this.#repeat('cancelled', () => this.#cancelled()),
      this.#repeat('connections', () => this.#connections()),
    ]);
    onTestFinished(async () => {
      await this.stop();
    });
  }

  /** Stops the load; resolves with the number of repetitions of each kind. */
  async stop(): Promise<Readonly<Record<string, number>>> {
    this.#stopped = true;
    await this.#working;
    this.#client.close();
    return this.#counts;
  }

  async #repeat(kind: string, act: () => Promise<void>): Promise<void> {
    while (!this.#stopped) {
      await act();
      this.#counts[kind] = (this.#counts[kind] ?? 0) + 1;
      await sleep(PAUSE_MS);
    }
  }

  async #createAndGet(): Promise<void> {
    const metadata = metadataOf(this.#authorization);
    const { route } = await create(this.#client, REQUEST, metadata);
    await get(this.#client, route?.id ?? '', metadata);
    await this.#fetch(`/v1/routing/${route?.id ?? ''}`, {});
  }

  async #nonsenseOverRest(): Promise<void> {
    await this.#fetch('/v1/routing', { method: 'POST', body: '{"method":' });
    await this.#fetch('/v1/routing', { method: 'POST', body: 'x'.repeat(100_000) });
    await this.#fetch(`/${'nowhere/'.repeat(20)}`, { method: 'DELETE' });
    await this.#fetch('/v1/routing/%ff', { headers: { authorization: 'Bearer nonsense' } });
  }

  async #nonsenseOverGrpc(): Promise<void> {
    const session = connect(`http://${this.#service.grpc}`).on('error', () => undefined);
    const authorization = { authorization: `Bearer ${this.#authorization}` };
    for (const [path, body] of [
      ['/nowhere', Buffer.alloc(0)],
      [CREATE, framed(Buffer.from('not a message'))],
      [CREATE, framed(Buffer.alloc(100_000))],
      [CREATE, framed(Buffer.from('not gzip'), true)],
    ] as const) {
      const stream = requestOn(session, path, authorization).on('error', () => undefined);
      await outcomeOf(stream.end(body));
    }
    session.destroy();
  }

  async #cancelled(): Promise<void> {
    const call = this.#client.createRoute(REQUEST, metadataOf(this.#authorization), () => undefined);
    const going = new AbortController();
    const gone = this.#fetch('/v1/routing', {
      method: 'POST',
      body: '{"method":"GET"}',
      signal: going.signal,
    });
    await sleep(Math.random() * 4);
    call.cancel();
    going.abort();
    await gone;
  }

  async #connections(): Promise<void> {
    for (const target of [this.#service.grpc, new URL(this.#service.http).host]) {
      const { hostname, port } = new URL(`http://${target}`);
      const socket = connectTcp(Number(port), hostname).on('error', () => undefined);
      socket.write('POST / HTTP/1.1\r\nhost: x');
      await sleep(5);
      socket.destroy();
    }
  }

  async #fetch(path: string, init: RequestInit): Promise<void> {
    const headers = { authorization: `Bearer ${this.#authorization}`, 'content-type': 'application/json' };
    await fetch(this.#service.http + path, { headers, ...init }).then(
      (response) => response.arrayBuffer(),
      () => undefined,
    );
  }
}
