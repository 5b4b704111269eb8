import { inspect } from 'node:util';
import { create, type DescMessage, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { type Any, AnySchema, anyPack } from '@bufbuild/protobuf/wkt';
import { status } from '@grpc/grpc-js';
import { expect, it } from 'vitest';
import * as rpc from '../src/gen/google/rpc/error_details_pb.js';
import { StatusSchema } from '../src/gen/google/rpc/status_pb.js';
import { RouteClientError, type StatusName } from '../src/index.js';
import { type Answer, startFaultServer } from './support/fault-server.js';
import { clientFor, DEFINITION, failureOf } from './support/test-client.js';

function detail<Schema extends DescMessage>(schema: Schema, init: MessageInitShape<Schema>): Any {
  return anyPack(schema, create(schema, init));
}

function failureAnswer(code: status, details: readonly Any[]): () => Answer {
  const rich = create(StatusSchema, { code, message: 'No.', details: [...details] });
  const trailers = { 'grpc-status-details-bin': Buffer.from(toBinary(StatusSchema, rich)) };
  return () => ({ code, details: 'No.', trailers });
}

const VIOLATION = { field: 'route.path', description: 'Must begin with "/"; got "u".' };
const INVALID = failureAnswer(status.INVALID_ARGUMENT, [
  detail(rpc.ErrorInfoSchema, { reason: 'ROUTE_INVALID', domain: 'routing.v1', metadata: { one: 'fact' } }),
  detail(rpc.BadRequestSchema, { fieldViolations: [VIOLATION] }),
  detail(rpc.RequestInfoSchema, { requestId: 'as-the-service-says' }),
  // JSON has no numbers of its type.
  detail(rpc.RetryInfoSchema, { retryDelay: { seconds: 1n } }),
]);

async function failureOfCreate(answer: () => Answer): Promise<RouteClientError> {
  const server = await startFaultServer(answer);
  const ids = { requestId: 'mine', idempotencyKey: 'key' };
  return failureOf(clientFor(server.address).createRoute(DEFINITION, ids));
}

const FACTS = { reason: 'ROUTE_INVALID', metadata: { one: 'fact' }, fieldViolations: [VIOLATION] };

it('an error has what the service says, its request id and its cause, and is logged as JSON without details', async () => {
  const failure = await failureOfCreate(INVALID);
  const said = {
    ...{ name: 'RouteClientError', code: 3, status: 'INVALID_ARGUMENT', message: 'No.', ...FACTS },
    ...{ requestId: 'as-the-service-says', idempotencyKey: 'key' },
  };
  expect(failure).toBeInstanceOf(Error);
  expect(failure).toMatchObject(said);
  expect(failure.details).toHaveLength(4);
  expect(failure.cause).toMatchObject({ code: 3, details: 'No.' });
  expect(JSON.parse(JSON.stringify(failure))).toEqual(said);
});

it('details that cannot be decoded are ignored', async () => {
  const trailers = { 'grpc-status-details-bin': Buffer.from([255, 255]) };
  const failure = await failureOfCreate(() => ({ code: status.INTERNAL, details: 'No.', trailers }));
  expect(failure).toMatchObject({ status: 'INTERNAL', message: 'No.', details: [] });
});

it('the details of a response are parsed, but for those of an unknown type', async () => {
  const any = create(AnySchema, { typeUrl: 'type.googleapis.com/routing.v2.Hint', value: Uint8Array.of(1) });
  const known = detail(rpc.QuotaFailureSchema, { violations: [{ subject: 'x' }] });
  const { details } = await failureOfCreate(failureAnswer(status.ABORTED, [known, any]));
  expect(details).toMatchObject([
    { $typeName: 'google.rpc.QuotaFailure', violations: [{ subject: 'x' }] },
    { $typeName: 'google.protobuf.Any', typeUrl: any.typeUrl },
  ]);
});

it('an error names the calling function in its stack, and shows no token, however it is printed', async () => {
  const server = await startFaultServer(INVALID);
  const client = clientFor(server.address, { token: 'very-secret' });
  const theCodeThatCalled = async (): Promise<unknown> => await client.createRoute(DEFINITION);
  const failure = await failureOf(theCodeThatCalled());
  expect(failure.stack).toContain('theCodeThatCalled');
  expect(inspect(failure, { depth: 20, showHidden: true })).not.toContain('very-secret');
});

it('an error of a fake has what it is given, as one of the service has it', () => {
  const failure = new RouteClientError({ code: 3, message: 'No.', ...FACTS, idempotencyKey: 'key' });
  expect(failure).toMatchObject({ status: 'INVALID_ARGUMENT', ...FACTS, requestId: '', details: [] });
  const other = new RouteClientError({ code: 99, message: 'No.' });
  expect(other).toMatchObject({ code: 99, status: 'UNKNOWN', metadata: {}, fieldViolations: [] });
});

it('an error of a fake takes its code by the name of a status, and no other name', () => {
  const failure = new RouteClientError({ code: 'NOT_FOUND', message: 'No such route.' });
  expect(failure).toMatchObject({ code: 5, status: 'NOT_FOUND' });
  for (const name of ['NOTFOUND', '5', 'toString'])
    expect(() => new RouteClientError({ code: name as StatusName, message: 'No.' })).toThrow(
      `There is no gRPC status "${name}".`,
    );
});
