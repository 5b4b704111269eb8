import { status } from '@grpc/grpc-js';
import {
  HealthCheckRequest,
  HealthCheckResponse,
  HealthCheckResponse_ServingStatus,
  HealthDefinition,
} from '../gen/healthcheck.js';
import type { Exchange, HttpReply, Upstream } from '@route-registry/transcoder';
import { REQUEST_ID } from '../calls/metadata-keys.js';

/** Where the gateway says how the server is. */
export const HEALTH_PATH = '/healthz';

const CHECK = `/${HealthDefinition.fullName}/${HealthDefinition.methods.check.name}`;
const OK: number = status.OK;
const WHOLE_SERVER = HealthCheckRequest.encode({ service: '' }).finish();

/** How long the server may take to say how it is, in milliseconds. */
const CHECK_MS = 2_000;

/**
 * Asks the server for its health (gRPC Health Checking Protocol): 200 `{"status":"SERVING"}`, or 503
 * `{"status":"NOT_SERVING"}` for everything else, including no answer.
 */
export async function healthReply(upstream: Upstream, exchange: Exchange): Promise<HttpReply> {
  const reply = await upstream.unary({
    path: CHECK,
    message: WHOLE_SERVER,
    metadata: new Map([[REQUEST_ID, exchange.requestId]]),
    deadline: Date.now() + CHECK_MS,
    cancellation: exchange,
  });
  return reply.code === OK && isServing(reply.message) ? SERVING : NOT_SERVING;
}

const SERVING: HttpReply = { status: 200, headers: {}, body: '{"status":"SERVING"}', routine: true };

/** The reply of a gateway that should get no further requests. */
export const NOT_SERVING: HttpReply = {
  status: 503,
  headers: { 'Retry-After': '1' },
  body: '{"status":"NOT_SERVING"}',
  routine: true,
};

function isServing(message: Uint8Array | undefined): boolean {
  return (
    message !== undefined &&
    HealthCheckResponse.decode(message).status === HealthCheckResponse_ServingStatus.SERVING
  );
}
