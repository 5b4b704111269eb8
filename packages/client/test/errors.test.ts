import { inspect } from 'node:util';
import { create, type DescMessage, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { type Any, AnySchema, anyPack } from '@bufbuild/protobuf/wkt';
import { status } from '@grpc/grpc-js';
import { expect, it } from 'vitest';
import {
  BadRequestSchema,
  DebugInfoSchema,
  ErrorInfoSchema,
  HelpSchema,
  LocalizedMessageSchema,
  PreconditionFailureSchema,
  QuotaFailureSchema,
  RequestInfoSchema,
  ResourceInfoSchema,
  RetryInfoSchema,
} from '../src/gen/google/rpc/error_details_pb.js';
import { StatusSchema } from '../src/gen/google/rpc/status_pb.js';
import { RouteClientError } from '../src/index.js';
import { type Answer, startFaultServer } from './support/fault-server.js';
import { clientFor, DEFINITION, failureOf } from './support/test-client.js';

function detail<Schema extends DescMessage>(schema: Schema, init: MessageInitShape<Schema>): Any {
  return anyPack(schema, create(schema, init));
}

function failingWith(code: status, details: readonly Any[]): () => Answer {
  const rich = create(StatusSchema, { code, message: 'No.', details: [...details] });
  const trailers = { 'grpc-status-details-bin': Buffer.from(toBinary(StatusSchema, rich)) };
  return () => ({ code, details: 'No.', trailers });
}

const VIOLATION = { field: 'route.path', description: 'Must begin with "/"; got "u".' };
const INVALID = failingWith(status.INVALID_ARGUMENT, [
  detail(ErrorInfoSchema, { reason: 'ROUTE_INVALID', domain: 'routing.v1', metadata: { one: 'fact' } }),
  detail(BadRequestSchema, { fieldViolations: [VIOLATION] }),
  detail(RequestInfoSchema, { requestId: 'as-the-service-says' }),
]);

async function failureOfCreate(answer: () => Answer): Promise<RouteClientError> {
  const server = await startFaultServer(answer);
  return failureOf(
    clientFor(server.address).createRoute(DEFINITION, { requestId: 'mine', idempotencyKey: 'key' }),
  );
}

it('an error has its code, status, reason, message, metadata, field violations, request id and cause', async () => {
  const failure = await failureOfCreate(INVALID);
  expect(failure).toBeInstanceOf(Error);
  expect(failure).toMatchObject({
    name: 'RouteClientError',
    code: 3,
    status: 'INVALID_ARGUMENT',
    reason: 'ROUTE_INVALID',
    message: 'No.',
    metadata: { one: 'fact' },
    fieldViolations: [VIOLATION],
    requestId: 'as-the-service-says',
    idempotencyKey: 'key',
  });
  expect(failure.cause).toMatchObject({ code: 3, details: 'No.' });
});

it('an error without details still has its status and request id', async () => {
  const failure = await failureOfCreate(() => ({ code: status.NOT_FOUND, details: 'No.' }));
  expect(failure).toMatchObject({
    status: 'NOT_FOUND',
    reason: undefined,
    metadata: {},
    fieldViolations: [],
    requestId: 'mine',
    details: [],
  });
});

it('details that cannot be decoded are ignored', async () => {
  const trailers = { 'grpc-status-details-bin': Buffer.from([255, 255]) };
  const failure = await failureOfCreate(() => ({ code: status.INTERNAL, details: 'No.', trailers }));
  expect(failure).toMatchObject({ status: 'INTERNAL', message: 'No.', details: [] });
});

it('a code that gRPC does not define becomes UNKNOWN and keeps its number', () => {
  const failure = new RouteClientError({ code: 99, message: 'No.', requestId: 'mine' });
  expect(failure).toMatchObject({ code: 99, status: 'UNKNOWN' });
});

it.each([
  { schema: BadRequestSchema, init: { fieldViolations: [VIOLATION] } },
  { schema: DebugInfoSchema, init: { detail: 'x' } },
  { schema: ErrorInfoSchema, init: { reason: 'X' } },
  { schema: HelpSchema, init: { links: [{ url: 'https://example.com' }] } },
  { schema: LocalizedMessageSchema, init: { locale: 'de', message: 'Nein.' } },
  { schema: PreconditionFailureSchema, init: { violations: [{ type: 'X' }] } },
  { schema: QuotaFailureSchema, init: { violations: [{ subject: 'x' }] } },
  { schema: RequestInfoSchema, init: { requestId: 'x' } },
  { schema: ResourceInfoSchema, init: { resourceName: 'x' } },
  { schema: RetryInfoSchema, init: { retryDelay: { seconds: 1n } } },
])('a detail of type $schema.typeName is parsed', async ({ schema, init }) => {
  const failure = await failureOfCreate(failingWith(status.ABORTED, [detail(schema as DescMessage, init)]));
  expect(failure.details).toMatchObject([{ $typeName: schema.typeName, ...init }]);
});

it('a detail of an unknown type stays an Any', async () => {
  const any = create(AnySchema, {
    typeUrl: 'type.googleapis.com/routing.v2.Hint',
    value: new Uint8Array([1, 2]),
  });
  const failure = await failureOfCreate(failingWith(status.ABORTED, [any]));
  const [kept] = failure.details;
  expect(kept).toMatchObject({ $typeName: 'google.protobuf.Any', typeUrl: any.typeUrl });
  expect(Buffer.from((kept as typeof any).value)).toEqual(Buffer.from([1, 2]));
});

it('an error can be logged as JSON, whatever its details hold', async () => {
  const overloaded = failingWith(status.ABORTED, [
    detail(ErrorInfoSchema, { reason: 'X' }),
    detail(RetryInfoSchema, { retryDelay: { seconds: 1n } }),
  ]);
  const failure = await failureOfCreate(overloaded);
  expect(JSON.parse(JSON.stringify(failure))).toEqual({
    name: 'RouteClientError',
    code: 10,
    status: 'ABORTED',
    reason: 'X',
    message: 'No.',
    metadata: {},
    fieldViolations: [],
    requestId: 'mine',
    idempotencyKey: 'key',
  });
});

it('the stack of an error names the function that made the call', async () => {
  const server = await startFaultServer(INVALID);
  const client = clientFor(server.address);
  async function theCodeThatCalled(): Promise<void> {
    await client.createRoute(DEFINITION);
  }
  expect((await failureOf(theCodeThatCalled())).stack).toContain('theCodeThatCalled');
});

it('an error shows no token, however it is printed', async () => {
  const server = await startFaultServer(INVALID);
  const failure = await failureOf(
    clientFor(server.address, { token: 'very-secret' }).createRoute(DEFINITION),
  );
  expect(inspect(failure, { depth: 20, showHidden: true })).not.toContain('very-secret');
});

it('an error of a fake has what it is given, as one of the service has it', () => {
  const facts = {
    reason: 'ROUTE_INVALID',
    metadata: { one: 'fact' },
    fieldViolations: [VIOLATION],
    idempotencyKey: 'key',
  };
  const failure = new RouteClientError({ code: status.INVALID_ARGUMENT, message: 'No.', ...facts });
  expect(failure).toMatchObject({ status: 'INVALID_ARGUMENT', ...facts, requestId: '', details: [] });
  const other = new RouteClientError({ code: status.UNAVAILABLE, message: 'No.' });
  expect(other).toMatchObject({ reason: undefined, metadata: {}, fieldViolations: [] });
});
