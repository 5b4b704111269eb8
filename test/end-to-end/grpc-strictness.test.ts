import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CreateRouteRequest, GetRouteRequest } from '../../src/gen/routing/v1/route_service.js';
import { callRaw, framed, type RawOutcome } from '../support/http2-call.js';
import { errorInfoOf, richErrorOfReply } from '../support/rich-error.js';
import { type Service, startService, tokenFor } from '../support/service.js';

const CREATE = '/routing.v1.RouteService/CreateRoute';
const GET = '/routing.v1.RouteService/GetRoute';

const ROUTE = { id: '', method: 'GET', path: '/', middleware: [], handler: 'h', createdAt: undefined };
const VALID = Buffer.from(
  CreateRouteRequest.encode({ route: ROUTE, requestId: '', validateOnly: false }).finish(),
);
const UNKNOWN_ID = framed(
  GetRouteRequest.encode({ routeId: '019b7c1e-0e6e-7000-8000-000000000001' }).finish(),
);

/** `route { handler: <these bytes> }` in wire form. */
function handlerOf(...bytes: number[]): Buffer {
  return Buffer.from([0x0a, bytes.length + 2, 0x2a, bytes.length, ...bytes]);
}

describe('the gRPC server', () => {
  let service: Service;

  beforeAll(async () => {
    service = await startService({ databaseUrl: 'sqlite::memory:' });
  });

  afterAll(async () => {
    await service.close();
  });

  function call(path: string, body: Uint8Array, headers: Record<string, string> = {}): Promise<RawOutcome> {
    return callRaw(service.grpcAddress, path, { authorization: `Bearer ${tokenFor()}`, ...headers }, body);
  }

  const malformed = { code: status.INVALID_ARGUMENT, reason: 'REQUEST_MALFORMED' };
  const tooLarge = { code: status.RESOURCE_EXHAUSTED, reason: 'REQUEST_TOO_LARGE' };
  const notFound = { code: status.NOT_FOUND, reason: 'ROUTE_NOT_FOUND' };

  const cases: {
    title: string;
    path?: string;
    body?: Buffer;
    headers?: Record<string, string>;
    code: status;
    reason: string;
  }[] = [
    { title: 'a byte that is never UTF-8', body: framed(handlerOf(0xff)), ...malformed },
    { title: 'an overlong NUL', body: framed(handlerOf(0xc0, 0x80)), ...malformed },
    { title: 'a truncated message', body: framed(VALID.subarray(0, -1)), ...malformed },
    {
      title: 'a field of another wire type',
      body: framed(Buffer.from([0x08, 0x01])),
      code: status.INVALID_ARGUMENT,
      reason: 'ROUTE_INVALID',
    },
    { title: 'a message of 65,537 bytes', body: framed(Buffer.alloc(65_537)), ...tooLarge },
    {
      title: 'an idempotency key that metadata cannot carry',
      headers: { 'idempotency-key': 'caf\u00e9' },
      code: status.INVALID_ARGUMENT,
      reason: 'ROUTE_INVALID',
    },
    {
      title: 'a credential that metadata cannot carry',
      headers: { authorization: 'Bearer caf\u00e9' },
      code: status.UNAUTHENTICATED,
      reason: 'TOKEN_INVALID',
    },
    {
      title: 'rich errors sent by a client',
      path: GET,
      body: UNKNOWN_ID,
      headers: { 'grpc-status-details-bin': 'AAAA', 'grpc-status': '0' },
      ...notFound,
    },
  ];

  it.each(cases)(
    'answers $title with a documented status',
    async ({ path = CREATE, body = framed(VALID), headers, code, reason }) => {
      const outcome = await call(path, body, headers);
      expect(errorInfoOf(richErrorOfReply(outcome))).toMatchObject({ reason, domain: 'routing.v1' });
      expect(outcome.code).toBe(code);
    },
  );

  it.each(
    cases.filter(({ reason }) =>
      ['REQUEST_MALFORMED', 'REQUEST_TOO_LARGE', 'ROUTE_INVALID'].includes(reason),
    ),
  )(
    'tells an unauthenticated client nothing about $title',
    async ({ path = CREATE, body = framed(VALID), headers = {} }) => {
      const outcome = await callRaw(service.grpcAddress, path, headers, body);
      expect(errorInfoOf(richErrorOfReply(outcome)).reason).toBe('TOKEN_MISSING');
    },
  );

  it('tells clients not to retry a message that is too large', async () => {
    const { trailers } = await call(CREATE, framed(Buffer.alloc(65_537)));
    expect(trailers.get('grpc-retry-pushback-ms')).toEqual(['-1']);
  });
});
