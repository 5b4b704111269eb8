import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type ClientDuplexStream, credentials, Metadata, status } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { HealthClient } from '../../src/gen/healthcheck.js';
import { type CreateRouteRequest, RouteServiceClient } from '../../src/gen/routing/v1/route_service.js';
import { startComposed } from '../support/compose-file.js';
import { type Database, engines } from '../support/engines.js';
import { type MetricText, readMetrics, sumOf } from '../support/metric-text.js';
import { describeOn } from '../support/needs.js';
import { OtlpCollector, type Received } from '../support/otlp-collector.js';
import type { Ended, Program } from '../support/process.js';
import { create, get, metadataOf } from '../support/service.js';
import { startTcpProxy, throughPort } from '../support/tcp-proxy.js';

/*
 * The promises of docs/metrics.md, read from the service as docker-compose.yml starts it, under load, faults and a stop.
 */

const DOCUMENT = readFileSync(resolve(import.meta.dirname, '../../docs/metrics.md'), 'utf8');
/** Starting, the faults, and the stop. */
const RUN_MS = 240_000;
/** As docs/operations.md prints it for the profile `balanced`. */
const DRAIN_DELAY_MS = 2_500;
const ABSENT = '01a1f941-715b-7593-b057-19259d7b5bfc';
const DEFINITION = { method: 'GET', path: '/users/:id', middleware: [], handler: 'h' };
const UNKNOWN_METHOD = '/un.Known/Method';
const REFLECTION = ['v1', 'v1alpha'].map(
  (v) => `/grpc.reflection.${v}.ServerReflection/ServerReflectionInfo`,
);
/** A `ServerReflectionRequest` for the list of services (grpc/reflection/v1/reflection.proto). */
const LIST_SERVICES = Buffer.from([0x3a, 0x00]);

/** When metrics were read, and of which process. */
type Moment =
  /** Of the service, again and again, with calls of all kinds under way. */
  | 'loaded'
  /** Of the service, after the load. */
  | 'server'
  /** Of the service, while its database does not answer. */
  | 'stalled'
  /** Of the service, once its database was away and is back. */
  | 'recovered'
  /** Of the service, after the signal to stop. */
  | 'draining'
  /** Of the gateway apart, after calls of its own. */
  | 'gateway'
  /** Of the gateway apart, after the end of the service that it calls. */
  | 'alone'
  /** Of a gRPC server with a replica, whose log has only failures. */
  | 'replicated';

/** Samples of which the sum is above zero at a moment. */
type Reading = readonly [moment: Moment, labels?: Readonly<Record<string, string>>];

/** The series that each metric of the service shows, and when. */
const READINGS: Readonly<Record<string, readonly Reading[]>> = {
  grpc_server_started_total: [
    ['server', { grpc_type: 'unary', grpc_method: 'GetRoute' }],
    ['server', { grpc_type: 'server_stream', grpc_method: 'Watch' }],
    ['server', { grpc_type: 'bidi_stream', grpc_method: 'ServerReflectionInfo' }],
    ['server', { grpc_type: 'unknown', grpc_service: 'unknown', grpc_method: 'unknown' }],
  ],
  grpc_server_handled_total: [
    ['server', { grpc_method: 'CreateRoute', grpc_code: 'OK' }],
    ['server', { grpc_method: 'GetRoute', grpc_code: 'OK' }],
    ['server', { grpc_method: 'GetRoute', grpc_code: 'NotFound' }],
    ['server', { grpc_method: 'GetRoute', grpc_code: 'Unauthenticated' }],
    ['server', { grpc_method: 'CreateRoute', grpc_code: 'PermissionDenied' }],
    ['server', { grpc_method: 'CreateRoute', grpc_code: 'AlreadyExists' }],
    ['server', { grpc_method: 'CreateRoute', grpc_code: 'InvalidArgument' }],
    ['server', { grpc_method: 'unknown', grpc_code: 'Unimplemented' }],
    ['server', { grpc_method: 'Watch', grpc_code: 'Canceled' }],
    ['server', { grpc_method: 'ServerReflectionInfo', grpc_code: 'OK' }],
    ['recovered', { grpc_method: 'GetRoute', grpc_code: 'Canceled' }],
    ['recovered', { grpc_method: 'GetRoute', grpc_code: 'DeadlineExceeded' }],
    ['recovered', { grpc_method: 'GetRoute', grpc_code: 'ResourceExhausted' }],
    ['recovered', { grpc_method: 'GetRoute', grpc_code: 'Unavailable' }],
  ],
  grpc_server_handling_seconds: [
    ['server', { grpc_method: 'CreateRoute' }],
    ['server', { grpc_method: 'ServerReflectionInfo' }],
  ],
  grpc_server_active_calls: [['stalled', { grpc_method: 'GetRoute' }]],
  http_server_request_duration_seconds: [
    ['server', { http_request_method: 'POST', http_route: '/v1/routing', http_response_status_code: '201' }],
    ['server', { http_request_method: 'GET', http_route: '/v1/routing/{route_id}' }],
    ['server', { http_route: '/v1/routing/{route_id}', http_response_status_code: '405' }],
    ['server', { http_route: 'unknown', http_response_status_code: '404' }],
    ['recovered', { http_response_status_code: '499' }],
    ['recovered', { http_response_status_code: '503' }],
    ['recovered', { http_response_status_code: '504' }],
    ['gateway', { http_response_status_code: '201' }],
    ['alone', { http_response_status_code: '503' }],
  ],
  http_server_active_requests: [['stalled']],
  route_registry_refusals_total: [
    ['server', { face: 'grpc', reason: 'TOKEN_MISSING' }],
    ['server', { face: 'grpc', reason: 'TOKEN_INVALID' }],
    ['server', { face: 'grpc', reason: 'SCOPE_MISSING' }],
    ['server', { face: 'grpc', reason: 'ROUTE_INVALID' }],
    ['server', { face: 'grpc', reason: 'ROUTE_NOT_FOUND' }],
    ['server', { face: 'grpc', reason: 'REQUEST_ID_REUSED' }],
    ['server', { face: 'grpc', reason: 'PATH_UNKNOWN' }],
    ['server', { face: 'grpc', reason: 'SERVICE_UNKNOWN' }],
    ['server', { face: 'rest', reason: 'TOKEN_MISSING' }],
    ['server', { face: 'rest', reason: 'REQUEST_MALFORMED' }],
    ['server', { face: 'rest', reason: 'REQUEST_TOO_LARGE' }],
    ['server', { face: 'rest', reason: 'CONTENT_TYPE_UNSUPPORTED' }],
    ['server', { face: 'rest', reason: 'METHOD_NOT_ALLOWED' }],
    ['recovered', { face: 'grpc', reason: 'OVERLOADED' }],
    ['recovered', { face: 'grpc', reason: 'DEADLINE_EXCEEDED' }],
    ['recovered', { face: 'grpc', reason: 'STORE_UNAVAILABLE' }],
    ['recovered', { face: 'grpc', reason: 'CANCELLED' }],
    ['recovered', { face: 'rest', reason: 'CANCELLED' }],
    ['recovered', { face: 'rest', reason: 'DEADLINE_EXCEEDED' }],
    ['recovered', { face: 'rest', reason: 'STORE_UNAVAILABLE' }],
    ['alone', { face: 'rest', reason: 'UPSTREAM_UNAVAILABLE' }],
  ],
  route_registry_database_connections: [
    ['server', { server: 'primary', state: 'free' }],
    ['stalled', { server: 'primary', state: 'used' }],
    ['replicated', { server: 'replica-1' }],
  ],
  route_registry_database_connection_waiters: [['stalled', { server: 'primary' }]],
  route_registry_statement_batch_size: [
    ['server', { operation: 'INSERT' }],
    ['server', { operation: 'SELECT' }],
  ],
  route_registry_statement_duration_seconds: [
    ['server', { operation: 'INSERT', server: 'primary' }],
    ['replicated', { operation: 'SELECT', server: 'replica' }],
  ],
  route_registry_statement_failures_total: [
    ['server', { operation: 'INSERT', server: 'primary', code: 'ER_DUP_ENTRY' }],
    ['recovered', { operation: 'SELECT', server: 'primary' }],
  ],
  route_registry_statement_retries_total: [['recovered', { operation: 'SELECT' }]],
  route_registry_replica_fallbacks_total: [['replicated']],
  route_registry_cache_hits_total: [
    ['server', { cache: 'routes' }],
    ['server', { cache: 'tokens' }],
  ],
  route_registry_cache_misses_total: [
    ['server', { cache: 'routes' }],
    ['server', { cache: 'tokens' }],
  ],
  route_registry_cache_entries: [
    ['server', { cache: 'routes' }],
    ['server', { cache: 'tokens' }],
  ],
  route_registry_cache_bytes: [['server', { cache: 'routes' }]],
  route_registry_log_lines_left_out_total: [
    ['server', { kind: 'strangers' }],
    ['recovered', { kind: 'causes' }],
    ['replicated', { kind: 'callers' }],
  ],
  route_registry_ready: [['server'], ['recovered'], ['gateway']],
  route_registry_check_ok: [
    ['server', { check: 'process' }],
    ['server', { check: 'database' }],
    ['server', { check: 'schema' }],
    ['gateway', { check: 'upstream' }],
  ],
  route_registry_draining: [['draining']],
  route_registry_schema_version: [['server']],
  route_registry_build_info: [
    ['server', { role: 'all' }],
    ['replicated', { role: 'grpc' }],
    ['gateway', { role: 'gateway' }],
  ],
};

/** The readings of a run, and all that the service told meanwhile. */
interface Seen {
  readonly metrics: Record<Moment, MetricText[]>;
  /** Of all processes, once they have ended. */
  readonly spans: readonly Received[];
  /** The log of the service. */
  readonly lines: readonly Readonly<Record<string, unknown>>[];
  /** The pages for operators during the stop: their status and what they say. */
  readonly draining: { readonly code: number; readonly body: unknown };
  readonly ended: Ended;
}

/** A process of the service, and where it is. */
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

/** A call with a message as it stands. */
async function callUnary(client: RouteServiceClient, path: string): Promise<void> {
  await new Promise<unknown>((done) => {
    client.makeUnaryRequest(path, same, same, Buffer.alloc(0), done);
  });
}

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

function createRequest(change: Partial<CreateRouteRequest> = {}, handler = 'h'): CreateRouteRequest {
  const route = { ...DEFINITION, handler, id: '', createdAt: undefined };
  return { route, requestId: '', validateOnly: false, ...change };
}

/** Callers of one process over both faces. */
class Callers {
  readonly client: RouteServiceClient;
  readonly #address: string;
  readonly #http: string;
  readonly #token: string;
  /** Each has a connection of its own. */
  readonly #connections: readonly RouteServiceClient[];

  constructor({ grpc, http }: Pick<Started, 'grpc' | 'http'>, token: string) {
    this.#address = grpc;
    this.#http = http;
    this.#token = token;
    this.client = new RouteServiceClient(grpc, credentials.createInsecure());
    this.#connections = Array.from(
      { length: 4 },
      () =>
        new RouteServiceClient(grpc, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 }),
    );
  }

  close(): void {
    for (const client of [this.client, ...this.#connections]) client.close();
  }

  async rest(method: string, path: string, options: RequestInit = {}): Promise<number> {
    const headers = { authorization: `Bearer ${this.#token}`, 'content-type': 'application/json' };
    const response = await fetch(this.#http + path, { method, headers, ...options });
    await response.arrayBuffer();
    return response.status;
  }

  async get(id: string, token = this.#token): Promise<status> {
    return (await get(this.client, id, metadataOf(token))).error?.code ?? status.OK;
  }

  /** Creates over both faces, and gets what is there: from the database, and then from memory. */
  async use(): Promise<void> {
    const { route } = await create(this.client, createRequest(), metadataOf(this.#token));
    const id = route?.id ?? '';
    expect(await this.get(id)).toBe(status.OK);
    expect(await this.get(id)).toBe(status.OK);
    await this.useRest(id);
  }

  async useRest(id: string): Promise<void> {
    const body = JSON.stringify(DEFINITION);
    expect(await this.rest('POST', '/v1/routing', { body })).toBe(201);
    expect(await this.rest('GET', `/v1/routing/${id}`)).toBe(200);
    expect(await this.rest('GET', '/healthz')).toBe(200);
  }

  /** Misses, bad tokens and bad input of many kinds. */
  async misuse(powerless: string): Promise<void> {
    const { client } = this;
    const own = metadataOf(this.#token);
    await this.get(ABSENT);
    await this.get(ABSENT, 'no.valid.token');
    await get(client, ABSENT, metadataOf(undefined));
    await create(client, createRequest(), metadataOf(powerless));
    await create(
      client,
      createRequest({ route: { ...DEFINITION, path: 'users', id: '', createdAt: undefined } }),
      own,
    );
    await create(client, createRequest({ requestId: 'once' }), own);
    await create(client, createRequest({ requestId: 'once' }, 'another'), own);
    await callUnary(client, UNKNOWN_METHOD);
    for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND'])
      await this.rest(method, `/v1/routing/${ABSENT}`);
    for (const method of ['GET', 'PROPFIND']) await this.rest(method, '/unknown/path');
    await this.rest('POST', '/v1/routing', { body: '{' });
    await this.rest('POST', '/v1/routing', {
      body: JSON.stringify({ ...DEFINITION, handler: 'h'.repeat(70_000) }),
    });
    await this.rest('POST', '/v1/routing', {
      body: '{}',
      headers: { authorization: `Bearer ${this.#token}`, 'content-type': 'text/plain' },
    });
    await this.rest('GET', `/v1/routing/${ABSENT}`, { headers: {} });
    // More in a second than the log has lines for.
    await Promise.all(Array.from({ length: 30 }, () => get(client, ABSENT, metadataOf(undefined))));
  }

  /** The methods that need no token. */
  async ask(): Promise<void> {
    const health = new HealthClient(this.#address, credentials.createInsecure());
    const watch = health.watch({ service: '' }).on('error', () => undefined);
    await once(watch, 'data');
    watch.cancel();
    for (const service of ['', 'unknown'])
      await new Promise((done) => health.check({ service }, new Metadata(), done));
    health.close();
    for (const path of REFLECTION) await listServices(this.client, path);
  }

  /** Two gets that wait. @returns what makes their callers go before they are answered */
  leave(): () => Promise<void> {
    const gone = new AbortController();
    const rest = this.rest('GET', `/v1/routing/${ABSENT}`, { signal: gone.signal }).catch(() => undefined);
    let cancel: () => void = () => undefined;
    const call = new Promise<void>((done) => {
      const started = this.client.getRoute({ routeId: ABSENT }, metadataOf(this.#token), () => {
        done();
      });
      cancel = () => {
        started.cancel();
      };
    });
    return async () => {
      gone.abort();
      cancel();
      await Promise.all([rest, call]);
    };
  }

  /** More calls at once than may wait for one caller. */
  callMany(): Promise<unknown>[] {
    const metadata = metadataOf(this.#token);
    return [
      this.crowd(),
      ...this.#connections.flatMap((client) =>
        Array.from(
          { length: 100 },
          async () => (await get(client, ABSENT, metadata)).error?.code ?? status.OK,
        ),
      ),
      ...Array.from({ length: 250 }, () => this.rest('GET', `/v1/routing/${ABSENT}`)),
    ];
  }

  /** Creates at once. */
  async crowd(): Promise<void> {
    const metadata = metadataOf(this.#token);
    await Promise.all(Array.from({ length: 60 }, () => create(this.client, createRequest(), metadata)));
  }
}

/** Tells which spans are those of a row in the document's table. */
const IS_ONE: Readonly<Record<string, (span: Received) => boolean>> = {
  'a REST request': ({ attributes }) => 'http.request.method' in attributes,
  'a gRPC call': ({ kind, attributes }) => kind === 'SERVER' && 'rpc.method' in attributes,
  'a call of a gateway apart': ({ kind, attributes }) => kind === 'CLIENT' && 'rpc.method' in attributes,
  'a statement': ({ attributes }) => 'db.operation.name' in attributes,
};

/** Resolves when something is so. */
function until(isSo: () => Promise<boolean>): Promise<void> {
  const look = async (): Promise<void> => {
    if (!(await isSo())) throw new Error('It is not so yet.');
  };
  return vi.waitFor(look, { timeout: 30_000 });
}

/** Whether a reading is in one of these texts. */
function isRead(texts: readonly MetricText[], metric: string, [, labels = {}]: Reading): boolean {
  return texts.some((text) => {
    const name = text.types.get(metric) === 'histogram' ? `${metric}_count` : metric;
    return sumOf(text, name, labels) > 0;
  });
}

/** Runs the service of docker-compose.yml with its gateway, and takes readings. */
async function run(database: Database, replica: Database): Promise<Seen> {
  const metrics: Seen['metrics'] = {
    loaded: [],
    server: [],
    stalled: [],
    recovered: [],
    draining: [],
    gateway: [],
    alone: [],
    replicated: [],
  };
  const collector = await OtlpCollector.open();
  const programs: Program[] = [];
  const callers: Callers[] = [];
  const proxy = await startTcpProxy(Number(new URL(database.url).port));
  const start = async (...args: Parameters<typeof startComposed>): Promise<Program> => {
    const program = await startComposed(...args);
    programs.push(program);
    return program;
  };
  try {
    const variables = {
      JWT_SECRET: 'the secret of this run, which is long enough',
      DRAIN_DELAY_MS: String(DRAIN_DELAY_MS),
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    };
    const addresses = {
      GRPC_ADDRESS: '127.0.0.1:0',
      HTTP_ADDRESS: '127.0.0.1:0',
      OPS_ADDRESS: '127.0.0.1:0',
    };
    const own = { ...addresses, DATABASE_URL: throughPort(database.url, proxy.port) };
    for (const { url } of [database, replica]) {
      const { exitCode } = await (await start('migrate', variables, { DATABASE_URL: url })).ended;
      expect(exitCode).toBe(0);
    }
    const server = await started(await start('route-registry', variables, own));
    const gateway = await started(
      await start('gateway', variables, { ...addresses, GRPC_UPSTREAM: `dns:///${server.grpc}` }),
    );
    const replicated = await started(
      await start('route-registry-2', variables, {
        ...own,
        ROLE: 'grpc',
        ACCESS_LOG: 'failures',
        DATABASE_REPLICA_URLS: replica.url,
      }),
    );
    const tokenOf = async (scope: string): Promise<string> => {
      const command = ['node', 'dist/token.js', '--scope', scope, '--sub', 'me'];
      return (await (await start('route-registry', variables, own, command)).ended).stdout.trim();
    };
    const token = await tokenOf('routes:read routes:write');
    const powerless = await tokenOf('routes:read');
    const face = new Callers(server, token);
    const apart = new Callers({ grpc: server.grpc, http: gateway.http }, token);
    const second = new Callers({ grpc: replicated.grpc, http: server.http }, token);
    callers.push(face, apart, second);

    // Under load, with good and bad calls of all kinds.
    const loading = new AbortController();
    const reading = (async () => {
      while (!loading.signal.aborted) metrics.loaded.push(await scrape(server));
    })();
    await Promise.all([face.use(), face.misuse(powerless), face.ask()]);
    const isWorking = (): boolean =>
      metrics.loaded.some(({ labels }) => labels.get('nodejs_active_requests')?.includes('type'));
    await until(async () => {
      await Promise.all([face.crowd(), face.use()]);
      return isWorking();
    });
    loading.abort();
    await reading;
    metrics.server.push(await scrape(server));

    const { route } = await create(face.client, createRequest(), metadataOf(token));
    await apart.useRest(route?.id ?? '');
    metrics.gateway.push(await scrape(gateway));
    expect(await second.get(route?.id ?? '')).toBe(status.OK);
    await Promise.all(Array.from({ length: 30 }, () => second.get(ABSENT)));
    metrics.replicated.push(await scrape(replicated));

    // The database does not answer: callers wait, give up, are late, and find no place.
    proxy.stall();
    const late = [face.get(ABSENT), face.rest('GET', `/v1/routing/${ABSENT}`)];
    const leaving = face.leave();
    await until(async () => {
      metrics.stalled.push(await scrape(server));
      const isUnderWay = (metric: string): boolean => isRead(metrics.stalled, metric, ['stalled']);
      return isUnderWay('grpc_server_active_calls') && isUnderWay('http_server_active_requests');
    });
    await leaving();
    const refused = ['stalled', { face: 'grpc', reason: 'OVERLOADED' }] as const;
    const isRefused = (): boolean => isRead(metrics.stalled, 'route_registry_refusals_total', refused);
    while (!isRefused()) {
      const waiting = new AbortController();
      const wave = Promise.all(face.callMany()).finally(() => {
        waiting.abort();
      });
      while (!waiting.signal.aborted && !isRefused()) {
        void face.get(ABSENT);
        metrics.stalled.push(await scrape(server));
      }
      await wave;
    }

    await Promise.all(late);

    // The connections end under a statement, which is sent again over others.
    await proxy.close();
    await proxy.reopen();
    await until(async () => (await face.get(ABSENT)) === status.NOT_FOUND);
    proxy.loseConnections();
    const interrupted = face.get(ABSENT);
    await until(async () => sumOf(await scrape(server), 'grpc_server_active_calls') > 0);
    await proxy.close();
    await proxy.reopen();
    await interrupted;

    // The database is away, and comes back.
    await proxy.close();
    await Promise.all(Array.from({ length: 30 }, () => face.get(ABSENT)));
    expect(await face.rest('GET', `/v1/routing/${ABSENT}`)).toBe(503);
    await proxy.reopen();
    await until(async () => (await fetch(`${server.ops}/readyz`)).status === 200);
    metrics.recovered.push(await scrape(server));

    // The stop.
    const ending = server.program.stop();
    await server.program.line('not serving');
    const page = await fetch(`${server.ops}/readyz`);
    const draining = { code: page.status, body: (await page.json()) as unknown };
    metrics.draining.push(await scrape(server));
    const ended = await ending;
    expect(await apart.rest('GET', `/v1/routing/${ABSENT}`)).toBe(503);
    metrics.alone.push(await scrape(gateway));
    await Promise.all([gateway, replicated].map(({ program }) => program.stop()));
    return { metrics, spans: collector.spans, lines: server.program.lines(), draining, ended };
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

const ROWS = [...rowsUnder('Metrics'), ...rowsUnder('The process')].map(
  ([name, , labels]) => [codes(name)[0] ?? '', codes(labels).sort()] as const,
);
const OWN = new Set(Object.keys(READINGS));
const REASONS = [
  ...readFileSync(resolve(import.meta.dirname, '../../docs/errors.md'), 'utf8').matchAll(
    /^\| `(\w+)` \| (\w+) \| (\w+) \|/gm,
  ),
].map(([, reason = '', grpc, rest]) => ({ reason, grpc: grpc !== 'none', rest: rest !== 'none' }));

describeOn(engines.slice(1, 2))('what docs/metrics.md promises, on $name', (engine) => {
  const databases: Database[] = [];
  let seen: Seen;

  beforeAll(async () => {
    databases.push(await engine.createDatabase(), await engine.createDatabase());
    const [database, replica] = databases as [Database, Database];
    seen = await run(database, replica);
  }, RUN_MS);

  afterAll(async () => {
    for (const database of databases) await database.drop();
  });

  /** Everything that was read, of all processes. */
  const everything = (): MetricText[] => Object.values(seen.metrics).flat();

  /** The values of a label in all samples of the service's own metrics. */
  function valuesOf(label: string): Set<string> {
    const pattern = new RegExp(`[{,]${label}="([^"]*)"`);
    const samples = everything().flatMap(({ values }) => [...values.keys()]);
    const own = samples.filter((sample) =>
      OWN.has(/^[a-z_]+?(?=(?:_bucket|_sum|_count)?(?:\{|$))/.exec(sample)?.[0] ?? ''),
    );
    return new Set(own.map((sample) => pattern.exec(sample)?.[1]).filter((value) => value !== undefined));
  }

  it('has a reading here for each metric of the service, and no other', () => {
    const documented = ROWS.map(([name]) => name).filter((name) => !/^(?:process|nodejs)_/.test(name));
    expect(Object.keys(READINGS)).toEqual(documented);
  });

  it.each(ROWS)('shows %s with its labels, in numbers', (name, labels) => {
    const shown = everything().filter(({ types }) => types.has(name));
    const values = shown.flatMap((text) => [...text.values]).filter(([sample]) => sample.startsWith(name));
    // Some are no number where nothing has been measured since the reading before.
    expect(values.some(([, value]) => Number.isFinite(value))).toBe(true);
    expect([...new Set(shown.flatMap((text) => text.labels.get(name) ?? []))].sort()).toEqual(labels);
  });

  const readings = Object.entries(READINGS).flatMap(([name, each]) =>
    each.map((reading) => ({ name, moment: reading[0], labels: JSON.stringify(reading[1] ?? {}), reading })),
  );

  it.each(readings)('counts $name $labels ($moment)', ({ name, moment, reading }) => {
    expect(isRead(seen.metrics[moment], name, reading)).toBe(true);
  });

  it.each(rowsUnder('Labels'))('has the values of the label %s, and no other', (label, values = '') => {
    const found = valuesOf(codes(label)[0] ?? '');
    for (const value of codes(values)) expect(found).toContain(value);
    if (!values.includes('such as')) expect([...found].sort()).toEqual(codes(values).sort());
  });

  it('has a row for each label', () => {
    const documented = rowsUnder('Labels').map(([label]) => codes(label)[0]);
    const own = ROWS.filter(([name]) => OWN.has(name)).flatMap(([, labels]) => labels);
    expect(new Set(documented)).toEqual(new Set(own));
  });

  it.each(['grpc', 'rest'] as const)('begins to count every reason of docs/errors.md over %s', (face) => {
    const samples = new Set(everything().flatMap(({ values }) => [...values.keys()]));
    for (const { reason } of REASONS.filter((each) => each[face]))
      expect(samples).toContain(`route_registry_refusals_total{face="${face}",reason="${reason}"}`);
  });

  it('turns the readiness at the signal to stop', () => {
    expect(seen.draining).toMatchObject({ code: 503, body: { status: 'draining' } });
    for (const text of seen.metrics.draining) expect(sumOf(text, 'route_registry_ready')).toBe(0);
  });

  it('logs each step of the stop with its milliseconds', () => {
    const from = seen.lines.findIndex(({ msg }) => msg === 'stopping');
    const steps = seen.lines
      .slice(from)
      .filter(({ msg }) => /^(?:not serving|closed the )/.test(String(msg)));
    expect(steps.map(({ msg }) => msg).sort()).toEqual([
      'closed the HTTP server',
      'closed the database',
      'closed the gRPC server',
      'closed the listener for operators',
      'closed the load measurement',
      'closed the span queue',
      'not serving',
    ]);
    expect(Number(steps[0]?.['ms'])).toBeLessThan(DRAIN_DELAY_MS);
    for (const { ms } of steps.slice(1)) expect(ms).toBeGreaterThanOrEqual(DRAIN_DELAY_MS - 10);
    expect(seen.lines.at(-1)).toMatchObject({ msg: 'stopped' });
    expect(seen.ended.exitCode).toBe(0);
  });

  it('has a row for each kind of span', () => {
    expect(rowsUnder('Spans').map(([what]) => what)).toEqual(Object.keys(IS_ONE));
    for (const span of seen.spans)
      expect(Object.values(IS_ONE).filter((isOne) => isOne(span))).toHaveLength(1);
  });

  it.each(rowsUnder('Spans'))('sends the span of %s, with its names, kind and attributes', (...row) => {
    const [what, names = '', kind = '', attributes = ''] = row;
    const found = seen.spans.filter((span) => IS_ONE[what ?? '']?.(span));
    for (const name of codes(names)) expect(found.map((span) => span.name)).toContain(name);
    expect(new Set(found.map((span) => span.kind))).toEqual(new Set(codes(kind)));
    const shown = new Set(found.flatMap((span) => Object.keys(span.attributes)));
    expect([...shown].sort()).toEqual(codes(attributes).sort());
  });

  it('links a statement for several calls to each of them', () => {
    const calls = new Set(seen.spans.map(({ spanId }) => spanId));
    const batches = seen.spans.filter(({ name }) => name.startsWith('BATCH '));
    for (const { links, attributes } of batches)
      expect(links).toHaveLength(Number(attributes['db.operation.batch.size']));
    expect(batches.some(({ links }) => links.every(({ spanId }) => calls.has(spanId)))).toBe(true);
  });

  it('names the service, its version and the process in each span', () => {
    for (const { resource } of seen.spans)
      expect(resource).toMatchObject({
        'service.name': 'route-registry',
        'service.version': expect.any(String) as unknown,
        'service.instance.id': expect.any(String) as unknown,
      });
    expect(new Set(seen.spans.map(({ resource }) => resource['service.instance.id'])).size).toBe(3);
  });

  it('names its trace in each log line about a request or a call', () => {
    const traces = new Set(seen.spans.map(({ traceId }) => traceId));
    const lines = seen.lines.filter(({ face }) => face !== undefined);
    expect(lines.length).toBeGreaterThan(0);
    for (const { traceId } of lines) expect(traceId).toMatch(/^[0-9a-f]{32}$/);
    expect(lines.some(({ traceId }) => traces.has(String(traceId)))).toBe(true);
  });
});
