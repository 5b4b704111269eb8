import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CreateRouteRequest } from '../../src/gen/routing/v1/route_service.js';
import { callRaw, frameMessage } from '../support/http2-call.js';
import { requestOf } from '../support/requests.js';
import { errorInfoOf, richErrorOfReply } from '../support/rich-error.js';
import { type Service, startService, tokenFor } from '../support/service.js';

const CREATE = '/routing.v1.RouteService/CreateRoute';
const VALID = Buffer.from(CreateRouteRequest.encode(requestOf()).finish());

/** `route { handler: <these bytes> }` in wire form. */
function handlerOf(...bytes: number[]): Buffer {
  return Buffer.from([0x0a, bytes.length + 2, 0x2a, bytes.length, ...bytes]);
}

let service: Service;
beforeAll(async () => {
  service = await startService({ databaseUrl: 'sqlite::memory:' });
});
afterAll(() => service.close());

it.each([
  ['a byte that is never UTF-8', 'REQUEST_MALFORMED', handlerOf(0xff)],
  ['an overlong NUL', 'REQUEST_MALFORMED', handlerOf(0xc0, 0x80)],
  ['its end missing', 'REQUEST_MALFORMED', VALID.subarray(0, -1)],
  ['a field of another wire type in place of its route', 'ROUTE_INVALID', Buffer.from([0x08, 0x01])],
])(
  'a message with %s is refused: %s, but only for the missing token without one',
  async (_, reason, bytes) => {
    const reasonFor = async (headers: Record<string, string>, code: status): Promise<unknown> => {
      const outcome = await callRaw(service.grpcAddress, CREATE, headers, frameMessage(bytes));
      expect(outcome.code).toBe(code);
      return errorInfoOf(richErrorOfReply(outcome)).reason;
    };
    const known = { authorization: `Bearer ${tokenFor()}` };
    expect(await reasonFor(known, status.INVALID_ARGUMENT)).toBe(reason);
    expect(await reasonFor({}, status.UNAUTHENTICATED)).toBe('TOKEN_MISSING');
  },
);
