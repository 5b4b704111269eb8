import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { post } from '../support/requests.js';
import { get, metadataOf, type Service, startService, tokenFor, TOPOLOGIES } from '../support/service.js';

const GET = '/routing.v1.RouteService/GetRoute';
const ABSENT = '01a1f941-715b-7593-b057-19259d7b5bfc';
/** A subject may be long and have invisible characters. */
const TOKEN = tokenFor({ sub: `ann\u00ad${'x'.repeat(200)}` });
const SUB = `ann\\u{ad}${'x'.repeat(123)}…`;
const DEBUG = 20;
const INFO = 30;

type Line = Record<string, unknown>;

describe.each(TOPOLOGIES)('a REST request, gateway %s,', (topology) => {
  let service: Service;

  beforeAll(async () => {
    service = await startService({
      databaseUrl: 'sqlite::memory:',
      topology,
      settings: { ACCESS_LOG: 'all' },
    });
  });

  afterAll(() => service.close());

  /** The log lines with a request id, once there are any. */
  async function linesOf(id: string): Promise<Line[]> {
    const found = (): Line[] => service.log.filter(({ requestId }) => requestId === id);
    await expect.poll(found).not.toEqual([]);
    return found();
  }

  async function ask(id: string, path: string, token?: string): Promise<number> {
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const { status } = await fetch(service.httpUrl + path, {
      headers: { 'x-request-id': id, ...authorization },
    });
    return status;
  }

  const rest = { protocol: 'rest', method: 'GET', level: INFO };
  const grpc = { protocol: 'grpc', path: GET, level: INFO };
  const inProcess = { 'in process': 1, 'over a channel': 0 }[topology];
  /** Only a gRPC server in the same process tells the gateway the subject. */
  const named = [{}, { sub: SUB }][inProcess];
  const ofServer = (line: Line): Line[] => [[{ ...grpc, sub: SUB, ...line }], []][inProcess] ?? [];

  it('has one log line from each process that handles it', async () => {
    const path = `/v1/routing/${ABSENT}`;
    expect(await ask('absent', `${path}?`, TOKEN)).toBe(404);
    const failure = { reason: 'ROUTE_NOT_FOUND' };
    expect(await linesOf('absent')).toMatchObject([
      ...ofServer({ ...failure, code: 'NOT_FOUND', msg: 'request refused' }),
      { ...rest, ...failure, path, status: 404, ...named, msg: 'request refused' },
    ]);
  });

  it('has one log line, from the gateway, if it cannot become a call; a separate guard has one for debugging', async () => {
    expect(await ask('odd', `/v1/routing/${ABSENT}?x=1`, TOKEN)).toBe(400);
    const admitted = { level: DEBUG, code: 'ABORTED', reason: 'GUARD_PASSED', authOnly: true };
    expect(await linesOf('odd')).toMatchObject([
      ...ofServer(admitted),
      { ...rest, status: 400, reason: 'REQUEST_MALFORMED', ...named },
    ]);
  });

  it('is logged without a subject if its client is unauthenticated, even if it cannot become a call', async () => {
    expect(await ask('strange', `/v1/routing/${ABSENT}?x=1`)).toBe(401);
    const lines = await linesOf('strange');
    expect(lines.map(({ reason, sub }) => [reason, sub])).toEqual(
      lines.map(() => ['TOKEN_MISSING', undefined]),
    );
    expect(lines).toHaveLength(2 - inProcess);
  });

  it('is logged at the debug level if it is a health check', async () => {
    expect(await ask('health', '/healthz')).toBe(200);
    const lines = await linesOf('health');
    expect(lines.map(({ level }) => level)).toEqual(lines.map(() => INFO - 10));
    expect(lines).toHaveLength(2 - inProcess);
  });
});

describe('a request over gRPC', () => {
  it.each([
    ['is logged at the info level if all calls are logged', 'all', INFO],
    ['is logged at the debug level if only failures are logged', 'failures', INFO - 10],
  ])('%s', async (_, ACCESS_LOG, level) => {
    const service = await startService({ databaseUrl: 'sqlite::memory:', settings: { ACCESS_LOG } });
    const created = await post(service);
    const { id } = (await created.json()) as { id: string };
    await get(service.client, id, metadataOf(TOKEN, { 'x-request-id': 'mine' }));
    await service.close();
    expect(service.log.filter(({ requestId }) => requestId === 'mine')).toMatchObject([
      { level, protocol: 'grpc', path: GET, code: 'OK', sub: SUB, msg: 'request answered' },
    ]);
    expect(service.log.filter(({ protocol, status }) => protocol === 'rest' && status === 201)).toMatchObject(
      [{ level }],
    );
  });
});
