import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { callRaw, frameMessage } from '../../support/http2-call.js';
import { get, metadataOf, tokenFor } from '../../support/service.js';
import {
  chainOf,
  clientSpan,
  startTracedService,
  type TracedService,
  tracedService,
} from './traced-service.js';

const ABSENT = '01a1f941-715b-7593-b057-19259d7b5bfc';
const NO_MESSAGE = frameMessage(Buffer.alloc(0));

/** Makes every create fail. */
const FAILING = {
  dependencies: {
    newId: () => {
      throw new Error('no ids today');
    },
  },
};

async function createIn(service: TracedService, traceparent: string): Promise<number> {
  const { status } = await fetch(`${service.httpUrl}/v1/routing`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tokenFor()}`, 'content-type': 'application/json', traceparent },
    body: '{"method":"GET","path":"/","handler":"h"}',
  });
  return status;
}

describe('a span has the error status', () => {
  it('if the server is at fault, and the log line of the cause has the same trace id', async () => {
    const service = await tracedService(FAILING);
    const { traceId, traceparent } = clientSpan();
    expect(await createIn(service, traceparent)).toBe(500);
    const spans = await service.collector.received(2, (span) => span.traceId === traceId);
    expect(chainOf(spans)).toMatchObject([
      { status: 'ERROR', attributes: { 'http.response.status_code': 500, 'error.type': '500' } },
      { status: 'ERROR', attributes: { 'rpc.response.status_code': 'INTERNAL', 'error.type': 'INTERNAL' } },
    ]);
    expect(service.log.filter((line) => line['traceId'] === traceId)).toMatchObject([
      { reason: 'INTERNAL', err: { message: 'no ids today' } },
      { reason: 'INTERNAL', status: 500 },
    ]);
  });

  it('in a separate gateway, too', async () => {
    const service = await tracedService({ ...FAILING, topology: 'over a channel' });
    const { traceId, traceparent } = clientSpan();
    await createIn(service, traceparent);
    const spans = await service.collector.received(3, (span) => span.traceId === traceId);
    expect(chainOf(spans)).toMatchObject([
      { kind: 'SERVER', status: 'ERROR' },
      { kind: 'CLIENT', status: 'ERROR', attributes: { 'error.type': 'INTERNAL' } },
      { kind: 'SERVER', status: 'ERROR' },
    ]);
  });

  it('but not if the client is at fault', async () => {
    const service = await tracedService();
    const { traceId, traceparent } = clientSpan();
    await fetch(`${service.httpUrl}/v1/routing/${ABSENT}`, { headers: { traceparent } });
    const spans = await service.collector.received(2, (span) => span.traceId === traceId);
    expect(chainOf(spans)).toMatchObject([
      { status: 'UNSET', attributes: { 'http.response.status_code': 401 } },
      { status: 'UNSET', attributes: { 'rpc.response.status_code': 'UNAUTHENTICATED' } },
    ]);
  });
});

describe('a client cannot invent span names', () => {
  it('with HTTP methods and paths', async () => {
    const service = await tracedService();
    await fetch(`${service.httpUrl}/unknown/one`, { method: 'PROPFIND' });
    const [span] = await service.collector.received(1, ({ kind }) => kind === 'SERVER');
    expect(span?.name).toBe('HTTP');
    expect(span?.attributes).toEqual({
      'http.request.method': '_OTHER',
      'http.request.method_original': 'PROPFIND',
      'http.response.status_code': 404,
      'url.scheme': 'http',
    });
  });

  it('with bytes that are not HTTP', async () => {
    const service = await tracedService();
    const { hostname, port } = new URL(service.httpUrl);
    const socket = connect(Number(port), hostname).resume();
    socket.end('nonsense\r\n\r\n');
    await once(socket, 'close');
    const [span] = await service.collector.received(1, ({ kind }) => kind === 'SERVER');
    expect(span).toMatchObject({ name: 'HTTP', attributes: { 'http.response.status_code': 400 } });
    expect(service.log).toContainEqual(expect.objectContaining({ status: 400, traceId: span?.traceId }));
  });

  it('with gRPC methods, which are truncated to 128 characters', async () => {
    const service = await tracedService();
    await callRaw(service.grpcAddress, `/un.Known/${'x'.repeat(300)}`, {}, NO_MESSAGE);
    const [span] = await service.collector.received(1, ({ kind }) => kind === 'SERVER');
    expect(span).toMatchObject({ name: '_OTHER', status: 'ERROR' });
    expect(span?.attributes).toEqual({
      'rpc.system.name': 'grpc',
      'rpc.method': '_OTHER',
      'rpc.method_original': `un.Known/${'x'.repeat(118)}…`,
      'rpc.response.status_code': 'UNIMPLEMENTED',
      'error.type': 'UNIMPLEMENTED',
    });
  });
});

describe('the data that is sent to the collector', () => {
  it('contains no token, path or value from a request', async () => {
    const service = await startTracedService({ databaseUrl: 'sqlite::memory:' });
    const token = tokenFor();
    const { traceparent } = clientSpan();
    const authorization = `Bearer ${token}`;
    const headers = { authorization, 'content-type': 'application/json' };
    const body = '{"method":"SECRET","path":"/swordfish","handler":"swordfish"}';
    await fetch(`${service.httpUrl}/v1/routing`, { method: 'POST', headers, body });
    await fetch(`${service.httpUrl}/v1/routing/${token}?t=${token}`, { headers });
    await fetch(`${service.httpUrl}/unknown/${token}`, {
      headers: { traceparent: token, tracestate: token },
    });
    await get(service.client, ABSENT, metadataOf(token, { traceparent }));
    await callRaw(service.grpcAddress, `/last?t=${token}`, { authorization }, NO_MESSAGE);
    await service.collector.received(1, ({ attributes }) => attributes['rpc.method_original'] === 'last');
    await service.close();
    const sent = Buffer.concat(service.collector.bodies).toString('latin1');
    expect(sent).toContain('INSERT routes');
    for (const text of [token.slice(0, 20), token.slice(-16), ABSENT, 'SECRET', 'swordfish'])
      expect(sent).not.toContain(text);
  });
});
