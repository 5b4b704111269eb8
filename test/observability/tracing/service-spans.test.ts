import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseDatabaseUrl } from '../../../src/settings/database-url.js';
import { openForMigrations } from '../../../src/store/database.js';
import type { Database } from '../../support/engines.js';
import { describeOn } from '../../support/needs.js';
import type { Received } from '../../support/otlp-collector.js';
import { create, get, metadataOf, tokenFor } from '../../support/service.js';
import { setups } from '../../support/setups.js';
import { chainOf, clientSpan, startTracedService, type TracedService } from './traced-service.js';

const ROUTE = { method: 'GET', path: '/users/:id', middleware: ['log'], handler: 'getUser' };
const ABSENT = '01a1f941-715b-7593-b057-19259d7b5bfc';
const TOKEN = tokenFor();
const CREATE = 'routing.v1.RouteService/CreateRoute';
const GET = 'routing.v1.RouteService/GetRoute';

describeOn(setups)('with $name', ({ engine, topology }) => {
  let database: Database;
  let service: TracedService;
  const apart = topology === 'over a channel';
  const ofMysql = engine.name !== 'SQLite';

  beforeAll(async () => {
    database = await engine.createDatabase();
    service = await startTracedService({
      databaseUrl: database.url,
      topology,
      settings: { ACCESS_LOG: 'all' },
    });
  });

  afterAll(async () => {
    await service.close();
    await database.drop();
  });

  function post(headers: Readonly<Record<string, string>>): Promise<Response> {
    return fetch(`${service.httpUrl}/v1/routing`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(ROUTE),
    });
  }

  const inTrace = (traceId: string, count: number): Promise<Received[]> =>
    service.collector.received(count, (span) => span.traceId === traceId);

  const statement = (operation: string): object => ({
    'db.system.name': ofMysql ? 'mysql' : 'sqlite',
    ...(ofMysql && { 'db.namespace': new URL(database.url).pathname.slice(1) }),
    'db.collection.name': 'routes',
    'db.operation.name': operation,
    'route_registry.db.attempt': 1,
  });

  it('a REST request, its call and its statement are one trace that continues from the client', async () => {
    const { traceId, spanId, traceparent } = clientSpan();
    const { status } = await post({ traceparent, tracestate: 'vendor=mine', 'x-request-id': traceId });
    expect(status).toBe(201);
    const chain = chainOf(await inTrace(traceId, apart ? 4 : 3));
    const call = { 'rpc.system.name': 'grpc', 'rpc.method': CREATE, 'rpc.response.status_code': 'OK' };
    const [host, port] = service.grpcAddress.split(':');
    const toServer = { ...call, 'server.address': host, 'server.port': Number(port) };
    expect(chain.map(({ kind, name, attributes }) => ({ kind, name, attributes }))).toEqual([
      {
        kind: 'SERVER',
        name: 'POST /v1/routing',
        attributes: {
          'http.request.method': 'POST',
          'http.route': '/v1/routing',
          'http.response.status_code': 201,
          'url.scheme': 'http',
        },
      },
      ...(apart ? [{ kind: 'CLIENT', name: CREATE, attributes: toServer }] : []),
      { kind: 'SERVER', name: CREATE, attributes: call },
      { kind: 'CLIENT', name: 'INSERT routes', attributes: statement('INSERT') },
    ]);
    expect(chain[0]?.parentSpanId).toBe(spanId);
    for (const span of chain)
      expect(span).toMatchObject({
        status: 'UNSET',
        links: [],
        traceState: 'vendor=mine',
        resource: { 'service.name': 'route-registry', 'service.version': '0.2.0-dev' },
      });
    const lines = service.log.filter(({ requestId }) => requestId === traceId);
    expect(lines.map((line) => [line['protocol'], line['traceId']])).toEqual(
      (apart ? ['grpc', 'rest'] : ['rest']).map((protocol) => [protocol, traceId]),
    );
  });

  it('a health check is one trace', async () => {
    const { traceId, traceparent } = clientSpan();
    await fetch(`${service.httpUrl}/healthz`, { headers: { traceparent } });
    const chain = chainOf(await inTrace(traceId, apart ? 3 : 2));
    expect(chain[0]?.name).toBe('GET /healthz');
    expect(chain.at(-1)?.name).toBe('grpc.health.v1.Health/Check');
  });

  it('a gRPC call and its statement are one trace that continues from the client', async () => {
    const { traceId, spanId, traceparent } = clientSpan();
    await get(service.client, ABSENT, metadataOf(TOKEN, { traceparent, 'x-request-id': traceId }));
    const chain = chainOf(await inTrace(traceId, 2));
    expect(chain).toMatchObject([
      { kind: 'SERVER', name: GET, parentSpanId: spanId, status: 'UNSET' },
      { kind: 'CLIENT', name: 'SELECT routes', attributes: statement('SELECT'), status: 'UNSET' },
    ]);
    expect(chain[0]?.attributes).toMatchObject({ 'rpc.response.status_code': 'NOT_FOUND' });
    const lines = service.log.filter(({ requestId }) => requestId === traceId);
    expect(lines).toMatchObject([{ reason: 'ROUTE_NOT_FOUND', traceId }]);
  });

  it('a statement that serves several calls is linked to each of them', async () => {
    const CALLS = 40;
    const earlier = new Set(service.collector.spans);
    await Promise.all(Array.from({ length: CALLS }, () => get(service.client, ABSENT, metadataOf(TOKEN))));
    const calls = await service.collector.received(CALLS, (span) => !earlier.has(span) && span.name === GET);
    const statements = (): Received[] =>
      service.collector.spans.filter((span) => !earlier.has(span) && span.name.endsWith('SELECT routes'));
    const served = (): string[] =>
      statements().flatMap(({ parentSpanId, links }) =>
        links.length === 0 ? [parentSpanId] : links.map(({ spanId }) => spanId),
      );
    await expect.poll(() => served().sort()).toEqual(calls.map(({ spanId }) => spanId).sort());
    const batches = statements().filter(({ links }) => links.length > 0);
    expect(batches.length).toBeGreaterThan(0);
    for (const { name, attributes, links, parentSpanId } of batches) {
      expect({ name, parentSpanId }).toEqual({ name: 'BATCH SELECT routes', parentSpanId: '' });
      const size = { 'db.operation.batch.size': links.length };
      expect(attributes).toEqual({ ...statement('BATCH SELECT'), ...size });
    }
  });

  it('a statement that the database refuses has a span with the error', async () => {
    const { traceId, traceparent } = clientSpan();
    const knex = openForMigrations(parseDatabaseUrl(database.url));
    await knex.schema.renameTable('routes', 'elsewhere');
    await get(service.client, ABSENT, metadataOf(TOKEN, { traceparent }));
    await knex.schema.renameTable('elsewhere', 'routes');
    await knex.destroy();
    const [select] = (await inTrace(traceId, 2)).filter(({ kind }) => kind === 'CLIENT');
    const code = ofMysql ? '1146' : 'SQLITE_ERROR';
    expect(select).toMatchObject({
      name: 'SELECT routes',
      status: 'ERROR',
      attributes: { 'db.response.status_code': code, 'error.type': code },
    });
  });

  it('a repeat has the spans of its statements', async () => {
    const { traceId, traceparent } = clientSpan();
    const route = { id: '', createdAt: undefined, ...ROUTE };
    const request = { requestId: traceId, route, validateOnly: false };
    await create(service.client, request, metadataOf(TOKEN));
    const { error } = await create(service.client, request, metadataOf(TOKEN, { traceparent }));
    expect(error).toBeUndefined();
    const statements = (await inTrace(traceId, 3)).filter(({ kind }) => kind === 'CLIENT');
    expect(statements).toMatchObject([
      { name: 'INSERT routes', status: 'UNSET' },
      { name: 'SELECT routes', status: 'UNSET' },
    ]);
  });

  it('an invalid traceparent starts a new trace', async () => {
    const headers = { traceparent: TOKEN, tracestate: 'vendor=1' };
    const { traceId: requestId } = clientSpan();
    await get(service.client, ABSENT, metadataOf(TOKEN, { ...headers, 'x-request-id': `${requestId}g` }));
    expect((await post({ ...headers, 'x-request-id': `${requestId}r` })).status).toBe(201);
    const traceOf = async (id: string): Promise<string> => {
      const find = (): unknown => service.log.find((line) => line['requestId'] === id)?.['traceId'];
      await expect.poll(find).toMatch(/^[0-9a-f]{32}$/);
      return String(find());
    };
    const chains = [
      chainOf(await inTrace(await traceOf(`${requestId}g`), 2)),
      chainOf(await inTrace(await traceOf(`${requestId}r`), apart ? 4 : 3)),
    ];
    expect(chains.map(([first]) => first?.parentSpanId)).toEqual(['', '']);
    expect(new Set(chains.flat().map(({ traceState }) => traceState))).toEqual(new Set(['']));
  });

  it('nothing is recorded of a trace that the client does not record', async () => {
    const [unrecorded, recorded] = [clientSpan('00'), clientSpan('01')];
    const earlier = new Set(service.collector.spans);
    await post({ traceparent: unrecorded.traceparent, 'x-request-id': unrecorded.traceId });
    await post({ traceparent: recorded.traceparent });
    await inTrace(recorded.traceId, apart ? 4 : 3);
    // Meanwhile the service checks its health, in separate traces.
    const since = service.collector.spans.filter(
      (span) => !earlier.has(span) && !span.name.startsWith('grpc.health'),
    );
    expect(new Set(since.map(({ traceId }) => traceId))).toEqual(new Set([recorded.traceId]));
    const { traceId } = unrecorded;
    expect(service.log.find(({ requestId }) => requestId === traceId)).toMatchObject({ traceId });
  });
});
