import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { grpcHead, sendFields } from './http2-frames.js';
import type { Service } from './service.js';

/** A gRPC call with two authorization entries. */
interface TwiceAuthorized {
  readonly path: string;
  readonly body: Buffer;
  readonly tokens: readonly [string, string];
}

/** Makes the call, which no HTTP/2 library would, and returns the reason for which the service refuses it. */
export async function refusalOfTwoTokens(
  { grpcAddress, log }: Service,
  { path, body, tokens }: TwiceAuthorized,
): Promise<unknown> {
  const requestId = randomUUID();
  const authorizations = tokens.map((token) => ['authorization', `Bearer ${token}`] as const);
  const fields = [...grpcHead(path), ...authorizations, ['x-request-id', requestId] as const];
  const socket = sendFields(grpcAddress, fields, body).resume();
  const refusal = (): unknown => log.find((line) => line['requestId'] === requestId)?.['reason'];
  await expect.poll(refusal).toBeDefined();
  socket.destroy();
  return refusal();
}
