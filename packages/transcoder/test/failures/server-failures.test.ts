import { create, toBinary } from '@bufbuild/protobuf';
import { TimestampSchema } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';
import { Code } from '../../src/gen/google/rpc/code_pb.js';
import { errorOf, reasonOf, type HttpResponse } from '../support/http-request.js';
import type { FailureDetails } from '../support/library-server.js';
import { sharedTranscoder } from '../support/shared-transcoder.js';

const gateway = sharedTranscoder();
const { call } = gateway;

/** A failure that the library's server makes on request. */
interface RequestedFailure {
  readonly code: Code;
  readonly message?: string;
  /** The reason in its ErrorInfo; with the details `retry`, the delay of its RetryInfo. */
  readonly reason?: string;
  readonly details?: FailureDetails;
}

/** The response to a call that fails like this. */
const fail = (failure: RequestedFailure): Promise<HttpResponse> => call('POST', '/v1/fail', failure);

describe('a failure of the server', () => {
  it('is shown with its details', async () => {
    const message = 'no 100% "luck"\n📚';
    const response = await fail({ code: Code.DATA_LOSS, message, reason: 'BAD_LUCK' });
    expect(errorOf(response)).toEqual({
      code: 500,
      status: 'DATA_LOSS',
      message,
      details: [
        { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'BAD_LUCK', domain: 'library.v1' },
      ],
    });
    expect(response).toMatchObject({ status: 500, headers: { 'cache-control': 'no-store' } });
  });

  it.each([
    { status: 'UNAVAILABLE', http: 503, retry: '1', reason: 'X' },
    { status: 'RESOURCE_EXHAUSTED', http: 429, retry: '1', reason: 'X' },
    { status: 'RESOURCE_EXHAUSTED', http: 413, retry: undefined, reason: 'REQUEST_TOO_LARGE' },
  ] as const)('with the status $status and the reason $reason is $http', async (failure) => {
    const { status, http, retry, reason } = failure;
    const response = await fail({ code: Code[status], reason });
    expect(response.status).toBe(http);
    expect(response.headers['retry-after']).toBe(retry);
  });

  it.each([
    { delay: '0s', retry: '0' },
    { delay: '0.200s', retry: '1' },
    { delay: '7s', retry: '7' },
    { delay: '-3s', retry: '0' },
  ])('with a RetryInfo of $delay has Retry-After: $retry', async ({ delay, retry }) => {
    const response = await fail({ code: Code.RESOURCE_EXHAUSTED, reason: delay, details: 'retry' });
    expect(response).toMatchObject({ status: 429, headers: { 'retry-after': retry } });
    expect(errorOf(response).details).toEqual([
      { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: delay },
    ]);
  });

  it.each([
    { status: 'UNAVAILABLE', http: 503, level: 'warn', reason: 'UPSTREAM_UNAVAILABLE' },
    { status: 'DEADLINE_EXCEEDED', http: 504, level: 'debug', reason: 'DEADLINE_EXCEEDED' },
    { status: 'CANCELLED', http: 499, level: 'debug', reason: 'CANCELLED' },
    { status: 'RESOURCE_EXHAUSTED', http: 429, level: 'warn', reason: 'OVERLOADED' },
    // Only a server can know that something does not exist.
    { status: 'NOT_FOUND', http: 500, level: 'error', reason: 'INTERNAL' },
  ] as const)(
    'with the status $status has a fixed message and is $http if no server sent it',
    async ({ status, http, level, reason }) => {
      const response = await fail({ code: Code[status], message: 'secret host', details: 'unanswered' });
      expect([response.status, reasonOf(response)]).toEqual([http, reason]);
      expect(response.text).not.toContain('secret');
      expect(gateway.log.filter(({ message }) => message === 'request failed').at(-1)).toMatchObject({
        level,
        fields: {
          requestId: response.headers['x-request-id'],
          err: { message: expect.stringContaining('secret host') as string },
        },
      });
    },
  );

  it.each<{ details: FailureDetails; why: string }>([
    { details: 'none', why: 'without a google.rpc.Status' },
    { details: 'text', why: 'with text as its google.rpc.Status' },
    { details: 'broken', why: 'with a malformed google.rpc.Status' },
  ])('keeps its code and text $why', async ({ details }) => {
    const response = await fail({ code: Code.ABORTED, message: 'Lost.', details });
    expect(errorOf(response)).toEqual({
      code: 409,
      status: 'ABORTED',
      message: 'Lost.',
      details: [
        { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'ABORTED', domain: 'library.v1' },
        {
          '@type': 'type.googleapis.com/google.rpc.RequestInfo',
          requestId: response.headers['x-request-id'],
        },
      ],
    });
  });

  it('is shown without a detail that has no type', async () => {
    const response = await fail({ code: Code.ABORTED, message: 'm', details: 'untyped' });
    expect(errorOf(response).details).toEqual([]);
  });
});

describe('a reply that cannot be shown', () => {
  it.each([
    {
      why: 'it cannot be decoded',
      // A string that is longer than the message.
      message: Buffer.from([0x0a, 0xff]),
      // The text of the decoder, whichever it is; not that of the case below.
      logged: expect.not.stringContaining('to JSON') as string,
    },
    {
      why: 'it has no JSON form',
      message: withTime(2n ** 63n - 1n),
      logged: expect.stringContaining('to JSON') as string,
    },
  ])('is INTERNAL if $why', async ({ message, logged }) => {
    const base64 = encodeURIComponent(message.toString('base64'));
    const response = await call('GET', `/v1/garble?message=${base64}`);
    expect(response.status).toBe(500);
    expect(errorOf(response).message).toBe('An internal error occurred.');
    expect(reasonOf(response)).toBe('INTERNAL');
    expect(gateway.log.filter(({ level }) => level === 'error').at(-1)?.fields).toMatchObject({
      requestId: response.headers['x-request-id'],
      err: { message: logged },
    });
  });
});

/** A message `Everything` whose time is this many seconds after 1970. */
function withTime(seconds: bigint): Buffer {
  const time = toBinary(TimestampSchema, create(TimestampSchema, { seconds }));
  // The tag of field 29 with a length, as a varint of two bytes.
  return Buffer.concat([Buffer.from([0xea, 0x01, time.length]), time]);
}
