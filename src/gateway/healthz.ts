import { randomUUID } from 'node:crypto';
import {
  HealthCheckRequest,
  HealthCheckResponse,
  HealthCheckResponse_ServingStatus,
  HealthDefinition,
} from '../gen/healthcheck.js';
import type { Exchange, HttpReply, RequestObservation, Upstream } from '@route-registry/transcoder';
import { REQUEST_ID } from '../calls/call.js';
import { now } from './upstream.js';

/** The path of the gateway's health check. */
export const HEALTH_PATH = '/healthz';

const CHECK = `/${HealthDefinition.fullName}/${HealthDefinition.methods.check.name}`;
const WHOLE_SERVER = HealthCheckRequest.encode({ service: '' }).finish();

/** How long the server may take to respond to a health check, in milliseconds. */
const CHECK_MS = 2_000;

/**
 * Responds with the gRPC server's health (gRPC Health Checking Protocol): 200 `{"status":"SERVING"}`, or 503
 * `{"status":"NOT_SERVING"}` for everything else, including no response. Concurrent requests share one call to the gRPC
 * server, so that unauthenticated clients cause at most one call at a time. The call has the id and the trace of the
 * request that started it, and continues if that request is cancelled.
 */
export function healthReplies(upstream: Upstream): (exchange: Exchange) => Promise<HttpReply> {
  let underWay: Promise<HttpReply> | undefined;
  return ({ requestId, observation }) =>
    (underWay ??= healthReply(upstream, requestId, observation.metadata).finally(() => {
      underWay = undefined;
    }));
}

/** Checks the server's health without a request. @throws Error when the server is not serving or does not respond */
export async function requireServing(upstream: Upstream): Promise<void> {
  const reply = await healthReply(upstream, randomUUID(), undefined);
  if (reply !== SERVING) throw new Error('The gRPC server is not serving.');
}

async function healthReply(
  upstream: Upstream,
  requestId: string,
  metadata: RequestObservation['metadata'],
): Promise<HttpReply> {
  const { message } = await upstream.unary({
    path: CHECK,
    message: WHOLE_SERVER,
    metadata: new Map([...(metadata ?? []), [REQUEST_ID, requestId]]),
    deadline: now() + CHECK_MS,
    cancellation: { cancelled: false, onCancelled: () => undefined },
  });
  if (message === undefined) return NOT_SERVING;
  const { status } = HealthCheckResponse.decode(message);
  return status === HealthCheckResponse_ServingStatus.SERVING ? SERVING : NOT_SERVING;
}

const SERVING: HttpReply = { status: 200, headers: {}, body: '{"status":"SERVING"}', routine: true };

/** The reply of a gateway that should receive no further requests. */
export const NOT_SERVING: HttpReply = {
  status: 503,
  headers: { 'Retry-After': '1' },
  body: '{"status":"NOT_SERVING"}',
  routine: true,
};
