import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type ClientDuplexStream, credentials, Metadata, status } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { HealthClient } from '../../src/gen/healthcheck.js';
import { type CreateRouteRequest, RouteServiceClient } from '../../src/gen/routing/v1/route_service.js';
import { startComposed } from '../support/compose-file.js';
import { type Database, engines } from '../support/engines.js';
import { type MetricText, readMetrics } from '../support/metric-text.js';
import { describeOn } from '../support/needs.js';
import { OtlpCollector, type Received } from '../support/otlp-collector.js';
import type { Program } from '../support/process.js';
import { create, get, metadataOf } from '../support/service.js';
import { startTcpProxy, throughPort } from '../support/tcp-proxy.js';

/*
 * Checks the labels and spans of docs/metrics.md against the service as docker-compose.yml starts it, in normal use and
 * while its database is away. test/end-to-end/operations.test.ts checks that every metric is documented with its type
 * and labels, and test/watch/metrics/ how each metric counts.
 */

const DOCUMENT = readFileSync(resolve(import.meta.dirname, '../../docs/metrics.md'), 'utf8');
/** For the start, the faults and the stop. */
const RUN_MS = 240_000;
const ABSENT = '01a1f941-715b-7593-b057-19259d7b5bfc';
const DEFINITION = { method: 'GET', path: '/users/:id', middleware: [], handler: 'h' };
const UNKNOWN_METHOD = '/un.Known/Method';
const REFLECTION = ['v1', 'v1alpha'].map(
  (v) => `/grpc.reflection.${v}.ServerReflection/ServerReflectionInfo`,
);
/** A `ServerReflectionRequest` for the list of services (grpc/reflection/v1/reflection.proto). */
const LIST_SERVICES = Buffer.from([0x3a, 0x00]);

/** What a run recorded. */
interface Seen {
  /** Of each process, before they stopped. */
  readonly metrics: readonly MetricText[];
  /** From all processes, after they stopped. */
  readonly spans: readonly Received[];
}

/** A process of the service, and its addresses. */
interface Started {
  readonly program: Program;
  readonly grpc: string;
  readonly http: string;
  readonly ops: string;
}

async function started(program: Program): Promise<Started> {
  const { grpc, http, ops } = await program.line('listening');
  return { program, grpc: String(grpc), http: String(http), ops: String(ops) };
}

async function scrape({ ops }: Pick<Started, 'ops'>): Promise<MetricText> {
  return readMetrics(await (await fetch(`${ops}/metrics`)).text());
}

const same = (bytes: Buffer): Buffer => bytes;

async function listServices(client: RouteServiceClient, path: string): Promise<void> {
  const call: ClientDuplexStream<Buffer, Buffer> = client.makeBidiStreamRequest(
    path,
    same,
    same,
    new Metadata(),
  );
  call.end(LIST_SERVICES);
  call.resume();
  await once(call, 'status');
}

/** Calls one process over both protocols. */
class Caller {
  readonly #client: RouteServiceClient;
  readonly #address: string;
  readonly #http: string;
  readonly #token: string;

  constructor({ grpc, http }: Pick<Started, 'grpc' | 'http'>, token: string) {
    this.#address = grpc;
    this.#http = http;
    this.#token = token;
    this.#client = new RouteServiceClient(grpc, credentials.createInsecure());
  }

  close(): void {
    this.#client.close();
  }

  async rest(method: string, path: string, options: RequestInit = {}): Promise<number> {
    const headers = { authorization: `Bearer ${this.#token}`, 'content-type': 'application/json' };
    const response = await fetch(this.#http + path, { method, headers, ...options });
    await response.arrayBuffer();
    return response.status;
  }

  async get(id: string, token: string | undefined = this.#token): Promise<status> {
    return (await get(this.#client, id, metadataOf(token))).error?.code ?? status.OK;
  }

  /** @returns the new route's id, or '' if the create was refused */
  async create(change: Partial<CreateRouteRequest> = {}): Promise<string> {
    const route = { ...DEFINITION, id: '', createdAt: undefined };
    const request = { route, requestId: '', validateOnly: false, ...change };
    return (await create(this.#client, request, metadataOf(this.#token))).route?.id ?? '';
  }

  /** Creates routes and gets them, from the database and from the cache, over both protocols. */
  async use(): Promise<void> {
    const [id = ''] = await Promise.all(Array.from({ length: 60 }, () => this.create()));
    expect(await this.get(id)).toBe(status.OK);
    expect(await this.get(id)).toBe(status.OK);
    await this.useRest(id);
  }

  async useRest(id: string): Promise<void> {
    const body = JSON.stringify(DEFINITION);
    expect(await this.rest('POST', '/v1/routing', { body })).toBe(201);
    expect(await this.rest('GET', `/v1/routing/${id}`)).toBe(200);
    expect(await this.rest('GET', `/v1/routing/${id}`)).toBe(200);
    expect(await this.rest('GET', `/v1/routing/${ABSENT}`)).toBe(404);
    expect(await this.rest('GET', '/healthz')).toBe(200);
  }

  /** Makes calls that are refused, more per second than the log has lines for. */
  async misuse(): Promise<void> {
    await this.create({ requestId: 'once' });
    await this.create({
      requestId: 'once',
      route: { ...DEFINITION, handler: 'i', id: '', createdAt: undefined },
    });
    await new Promise<unknown>((done) => {
      this.#client.makeUnaryRequest(UNKNOWN_METHOD, same, same, Buffer.alloc(0), done);
    });
    for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND'])
      await this.rest(method, `/v1/routing/${ABSENT}`);
    for (const method of ['GET', 'PROPFIND']) await this.rest(method, '/unknown/path');
    await this.rest('GET', `/v1/routing/${ABSENT}`, { headers: {} });
    await Promise.all(Array.from({ length: 30 }, () => get(this.#client, ABSENT, metadataOf(undefined))));
  }

  /** Calls the methods that need no token. */
  async ask(): Promise<void> {
    const health = new HealthClient(this.#address, credentials.createInsecure());
    const watch = health.watch({ service: '' }).on('error', () => undefined);
    await once(watch, 'data');
    watch.cancel();
    await new Promise((done) => health.check({ service: '' }, new Metadata(), done));
    health.close();
    for (const path of REFLECTION) await listServices(this.#client, path);
  }

  /** Starts a get over REST that waits, and leaves before it gets a response. */
  async leave(): Promise<void> {
    const signal = AbortSignal.timeout(500);
    await expect(this.rest('GET', `/v1/routing/${ABSENT}`, { signal })).rejects.toThrow();
  }
}

/** Whether a span belongs to a row of the document's table, by the first cell of the row. */
const IS_ONE: Readonly<Record<string, (span: Received) => boolean>> = {
  'a REST request': ({ attributes }) => 'http.request.method' in attributes,
  'a gRPC call': ({ kind, attributes }) => kind === 'SERVER' && 'rpc.method' in attributes,
  'a call of a separate gateway': ({ kind, attributes }) => kind === 'CLIENT' && 'rpc.method' in attributes,
  'a statement': ({ attributes }) => 'db.operation.name' in attributes,
};

/** Runs the services of docker-compose.yml, and calls them in all ways. */
async function run(database: Database): Promise<Seen> {
  const collector = await OtlpCollector.open();
  const programs: Program[] = [];
  const callers: Caller[] = [];
  const proxy = await startTcpProxy(Number(new URL(database.url).port));
  const start = async (...args: Parameters<typeof startComposed>): Promise<Program> => {
    const program = await startComposed(...args);
    programs.push(program);
    return program;
  };
  try {
    const variables = {
      JWT_SECRET: 'the secret of this run, which is long enough',
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    };
    const addresses = {
      GRPC_ADDRESS: '127.0.0.1:0',
      HTTP_ADDRESS: '127.0.0.1:0',
      OPS_ADDRESS: '127.0.0.1:0',
    };
    const own = { ...addresses, DATABASE_URL: throughPort(database.url, proxy.port) };
    const migration = await start('migrate', variables, { DATABASE_URL: database.url });
    expect((await migration.ended).exitCode).toBe(0);
    const server = await started(await start('route-registry', variables, own));
    const gateway = await started(
      await start('gateway', variables, { ...addresses, GRPC_UPSTREAM: `dns:///${server.grpc}` }),
    );
    const alone = await started(
      await start('route-registry-2', variables, {
        ...own,
        ROLE: 'grpc',
        ACCESS_LOG: 'failures',
      }),
    );
    // An issuer that does not answer is enough for the check of its keys.
    const issuer = { JWT_SECRET: '', JWT_JWKS_URL: 'http://127.0.0.1:1/jwks.json' };
    const issued = await started(await start('route-registry-2', { ...variables, ...issuer }, own));
    const command = ['node', 'dist/token.js', '--scope', 'routes:read routes:write', '--sub', 'me'];
    const token = (await (await start('route-registry', variables, own, command)).ended).stdout.trim();
    const protocol = new Caller(server, token);
    const apart = new Caller({ grpc: server.grpc, http: gateway.http }, token);
    const second = new Caller({ grpc: alone.grpc, http: server.http }, token);
    callers.push(protocol, apart, second);

    await Promise.all([protocol.use(), protocol.misuse(), protocol.ask()]);
    const id = await protocol.create();
    await apart.useRest(id);
    expect(await apart.rest('GET', `/v1/routing/${id}?unknown=1`)).toBe(400);
    expect(await second.get(id)).toBe(status.OK);
    await Promise.all(Array.from({ length: 30 }, () => second.get(ABSENT)));

    // The database stops responding, and then goes away.
    proxy.stall();
    await protocol.leave();
    await proxy.close();
    expect(await protocol.rest('GET', `/v1/routing/${ABSENT}`)).toBe(503);
    const processes = [server, gateway, alone, issued];
    const metrics = await Promise.all(processes.map(scrape));
    await Promise.all(processes.map(({ program }) => program.stop()));
    return { metrics, spans: collector.spans };
  } finally {
    for (const each of callers) each.close();
    await Promise.all(programs.map((program) => program.stop('SIGKILL')));
    await proxy.close();
    await collector.close();
  }
}

/** The rows of the tables in a section of the document, each a list of cells. */
function rowsUnder(heading: string): string[][] {
  const section = new RegExp(`\n#+ ${heading}\n([^]*?)\n#`).exec(`${DOCUMENT}\n#`)?.[1] ?? '';
  return [...section.matchAll(/^\| (.*) \|$/gm)]
    .map(([, row = '']) => row.split(' | '))
    .filter(([first = '']) => !/^(?:-|metric|label|span)/.test(first));
}

function codes(cell = ''): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
}

describeOn(engines.slice(1, 2))('what docs/metrics.md promises on $name', (engine) => {
  let database: Database | undefined;
  let seen: Seen;

  beforeAll(async () => {
    database = await engine.createDatabase();
    seen = await run(database);
  }, RUN_MS);

  afterAll(() => database?.drop());

  /** The values of a label in all samples of the service's own metrics. */
  function valuesOf(label: string): string[] {
    const pattern = new RegExp(`^(?:grpc|http|route)_.*[{,]${label}="([^"]*)"`);
    const samples = seen.metrics.flatMap(({ values }) => [...values.keys()]);
    return [...new Set(samples.flatMap((sample) => pattern.exec(sample)?.slice(1) ?? []))];
  }

  it.each(rowsUnder('Labels'))('the label %s has exactly the documented values', (label, cell = '') => {
    const values = codes(cell).sort();
    const found = valuesOf(codes(label)[0] ?? '').sort();
    expect(cell.includes('such as') ? found.filter((value) => values.includes(value)) : found).toEqual(
      values,
    );
  });

  it('each span is of one documented kind', () => {
    expect(rowsUnder('Spans').map(([what]) => what)).toEqual(Object.keys(IS_ONE));
    const kinds = Object.values(IS_ONE);
    expect(seen.spans.filter((span) => kinds.filter((isOne) => isOne(span)).length !== 1)).toEqual([]);
  });

  it.each(rowsUnder('Spans'))('the span of %s has the documented names, kind and attributes', (...row) => {
    const [what, names = '', kind = '', attributes = ''] = row;
    const found = seen.spans.filter((span) => IS_ONE[what ?? '']?.(span));
    expect(found.map((span) => span.name)).toEqual(expect.arrayContaining(codes(names)));
    expect([...new Set(found.map((span) => span.kind))]).toEqual(codes(kind));
    const shown = new Set(found.flatMap((span) => Object.keys(span.attributes)));
    expect([...shown].sort()).toEqual(codes(attributes).sort());
  });
});
