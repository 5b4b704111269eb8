import { status } from '@grpc/grpc-js';
import fc from '../support/fast-check.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CreateRouteRequest, GetRouteRequest } from '../../src/gen/routing/v1/route_service.js';
import { engines } from '../support/engines.js';
import { callRaw, framed, type RawOutcome } from '../support/http2-call.js';
import { errorInfoOf, richErrorOfReply } from '../support/rich-error.js';
import { create, metadataOf, type Service, startServiceOn, tokenFor } from '../support/service.js';

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

describe.each(engines.slice(0, 1))('the gRPC server', (engine) => {
  let service: Service;
  let stored: string;

  beforeAll(async () => {
    service = await startServiceOn(engine);
    const request = { route: ROUTE, requestId: '', validateOnly: false };
    const { route } = await create(service.client, request, metadataOf(tokenFor()));
    stored = JSON.stringify(route);
  });

  afterAll(async () => {
    const id = (JSON.parse(stored) as { id: string }).id;
    const outcome = await call(GET, framed(GetRouteRequest.encode({ routeId: id }).finish()));
    expect(outcome.code).toBe(status.OK);
    await service.close();
  });

  function call(
    path: string,
    body: Uint8Array,
    headers: Record<string, string | string[]> = {},
  ): Promise<RawOutcome> {
    return callRaw(service.grpcAddress, path, { authorization: `Bearer ${tokenFor()}`, ...headers }, body);
  }

  const malformed = { code: status.INVALID_ARGUMENT, reason: 'REQUEST_MALFORMED' };
  const tooLarge = { code: status.RESOURCE_EXHAUSTED, reason: 'REQUEST_TOO_LARGE' };
  const unknown = { code: status.UNIMPLEMENTED, reason: 'PATH_UNKNOWN' };
  const late = { code: status.DEADLINE_EXCEEDED, reason: 'DEADLINE_EXCEEDED' };
  const notFound = { code: status.NOT_FOUND, reason: 'ROUTE_NOT_FOUND' };

  const cases: {
    title: string;
    path?: string;
    body?: Buffer;
    headers?: Record<string, string | string[]>;
    code: status;
    reason: string;
  }[] = [
    { title: 'a byte that is never UTF-8', body: framed(handlerOf(0xff)), ...malformed },
    { title: 'a truncated UTF-8 character', body: framed(handlerOf(0xf0, 0x9f, 0x98)), ...malformed },
    { title: 'a surrogate in UTF-8', body: framed(handlerOf(0xed, 0xa0, 0x80)), ...malformed },
    { title: 'an overlong NUL', body: framed(handlerOf(0xc0, 0x80)), ...malformed },
    { title: 'garbage', body: framed(Buffer.from('garbage')), ...malformed },
    { title: 'a truncated message', body: framed(VALID.subarray(0, -1)), ...malformed },
    {
      title: 'a field of another wire type',
      body: framed(Buffer.from([0x08, 0x01])),
      code: status.INVALID_ARGUMENT,
      reason: 'ROUTE_INVALID',
    },
    {
      title: 'a length beyond the message',
      body: framed(Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f])),
      ...malformed,
    },
    { title: 'a group that never ends', body: framed(Buffer.from([0x1b])), ...malformed },
    { title: 'a message of 65,537 bytes', body: framed(Buffer.alloc(65_537)), ...tooLarge },
    { title: 'an unknown method', path: '/routing.v1.RouteService/DeleteRoute', ...unknown },
    { title: 'an unknown service', path: '/other.v1.Service/Method', ...unknown },
    { title: 'a timeout that has passed', headers: { 'grpc-timeout': '0n' }, ...late },
    {
      title: 'a request id with a space',
      headers: { 'idempotency-key': 'a b' },
      code: status.INVALID_ARGUMENT,
      reason: 'ROUTE_INVALID',
    },
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

  it('answers any bytes with a documented status', async () => {
    const bodies = fc.oneof(
      fc.uint8Array({ maxLength: 200 }).map(framed),
      fc.uint8Array({ maxLength: 200 }),
      fc.tuple(fc.nat({ max: VALID.length - 1 }), fc.nat({ max: 255 })).map(([index, byte]) => {
        const changed = Buffer.from(VALID);
        changed[index] = byte;
        return framed(changed);
      }),
    );
    const documented = [
      status.OK,
      status.INVALID_ARGUMENT,
      status.RESOURCE_EXHAUSTED,
      status.NOT_FOUND,
      status.CANCELLED,
      // From grpc-js, for a message that cannot be inflated or has an unknown encoding.
      status.INTERNAL,
      status.UNIMPLEMENTED,
    ];
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(CREATE, GET), bodies, async (path, body) => {
        const { code } = await call(path, body);
        expect(documented).toContain(code);
      }),
      { numRuns: 200 },
    );
  });

  it('answers any metadata with a documented status', async () => {
    const values = fc.string({
      unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
    });
    const names = fc.constantFrom(
      'x-request-id',
      'idempotency-key',
      'traceparent',
      'grpc-encoding',
      'x-any',
      'x-any-bin',
      'user-agent',
    );
    await fc.assert(
      fc.asyncProperty(fc.dictionary(names, values), async (headers) => {
        const { code } = await call(GET, UNKNOWN_ID, headers);
        expect([status.NOT_FOUND, status.INVALID_ARGUMENT, status.DEADLINE_EXCEEDED]).toContain(code);
      }),
      { numRuns: 100 },
    );
  });
});
