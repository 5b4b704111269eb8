import { randomUUID } from 'node:crypto';
import { status } from '@grpc/grpc-js';
import {
  HealthCheckRequest,
  HealthCheckResponse,
  HealthCheckResponse_ServingStatus,
  HealthDefinition,
} from '../gen/healthcheck.js';
import type { Exchange, HttpReply, RequestObservation, Upstream } from '@route-registry/transcoder';
import { REQUEST_ID } from '../calls/metadata-keys.js';
import { now } from './clock.js';

/** The path of the gateway's health check. */
export const HEALTH_PATH = '/healthz';

const CHECK = `/${HealthDefinition.fullName}/${HealthDefinition.methods.check.name}`;
const OK: number = status.OK;
const WHOLE_SERVER = HealthCheckRequest.encode({ service: '' }).finish();

/** How long the server may take to answer a health check, in milliseconds. */
const CHECK_MS = 2_000;

/**
 * Answers by asking the server for its health (gRPC Health Checking Protocol): 200 `{"status":"SERVING"}`, or 503
 * `{"status":"NOT_SERVING"}` for everything else, including no answer. Requests that come while the server is asked share
 * its answer, so that however many unauthenticated clients ask, it has one call at a time; the call has the id and the
 * trace of the request that began it, and goes on without it.
 */
export function healthReplies(upstream: Upstream): (exchange: Exchange) => Promise<HttpReply> {
  let underWay: Promise<HttpReply> | undefined;
  return ({ requestId, observation }) =>
    (underWay ??= healthReply(upstream, requestId, observation.metadata).finally(() => {
      underWay = undefined;
    }));
}

/** Checks the server's health apart from any request. @throws Error when `GET /healthz` would answer 503 */
export async function requireServing(upstream: Upstream): Promise<void> {
  const reply = await healthReply(upstream, randomUUID(), undefined);
  if (reply !== SERVING) throw new Error('The gRPC server is not serving.');
}

async function healthReply(
  upstream: Upstream,
  requestId: string,
  metadata: RequestObservation['metadata'],
): Promise<HttpReply> {
  const { code, message } = await upstream.unary({
    path: CHECK,
    message: WHOLE_SERVER,
    metadata: new Map([...(metadata ?? []), [REQUEST_ID, requestId]]),
    deadline: now() + CHECK_MS,
    cancellation: { cancelled: false, onCancelled: () => undefined },
  });
  if (code !== OK || message === undefined) return NOT_SERVING;
  const { status } = HealthCheckResponse.decode(message);
  return status === HealthCheckResponse_ServingStatus.SERVING ? SERVING : NOT_SERVING;
}

const SERVING: HttpReply = { status: 200, headers: {}, body: '{"status":"SERVING"}', routine: true };

/** The reply of a gateway that should get no further requests. */
export const NOT_SERVING: HttpReply = {
  status: 503,
  headers: { 'Retry-After': '1' },
  body: '{"status":"NOT_SERVING"}',
  routine: true,
};
