import { STATUS_CODES } from 'node:http';
import type { JsonValue } from '@bufbuild/protobuf';
import type { FailureReply } from './failure-replies.js';
import type { Content, Response, Schema } from './open-api.js';
import { type NamedReply, responseHeaders } from './response-headers.js';

/** The name of the schema of all errors. */
export const ERROR_SCHEMA: Schema = { $ref: '#/components/schemas/Error' };

/**
 * The response for replies with the same status.
 *
 * @param schema of their bodies; not needed for replies without a body
 */
export function responseOf(
  description: string,
  replies: readonly NamedReply[],
  schema: Schema | undefined,
): Response {
  const bodies = replies.flatMap(({ name, reply: { body } }) =>
    body === undefined ? [] : [[name, { value: JSON.parse(textOf(body)) as JsonValue }] as const],
  );
  const content: Content | undefined =
    schema === undefined
      ? undefined
      : { 'application/json': { schema, examples: Object.fromEntries(bodies) } };
  return {
    description,
    headers: responseHeaders(replies),
    ...(content === undefined ? {} : { content }),
  };
}

/** The responses for failures, by HTTP status. Of several failures with one reason, only the first counts. */
export function failureResponses(failures: readonly FailureReply[]): Map<number, Response> {
  const distinct = failures.filter(
    ({ reason }, index) => failures.findIndex((each) => each.reason === reason) === index,
  );
  const statuses = new Set(distinct.map(({ reply }) => reply.status));
  return new Map(
    [...statuses].map((status) => [
      status,
      failureResponse(distinct.filter(({ reply }) => reply.status === status)),
    ]),
  );
}

/** The response for failures with the same status. */
export function failureResponse(failures: readonly FailureReply[]): Response {
  const status = failures[0]?.reply.status ?? 0;
  const reasons = failures.map(({ reason }) => `\`${reason}\``).join(', ');
  const replies = failures.map(({ reason, reply }) => ({ name: reason, reply }));
  return responseOf(`${STATUS_CODES[status] ?? NON_STANDARD}: ${reasons}.`, replies, ERROR_SCHEMA);
}

/** 499 is in no RFC, only in google/rpc/code.proto. */
const NON_STANDARD = 'Client Closed Request';

function textOf(body: string | Uint8Array): string {
  return typeof body === 'string' ? body : Buffer.from(body).toString();
}
