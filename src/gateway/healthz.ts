import { status } from '@grpc/grpc-js';
import {
  HealthCheckRequest,
  HealthCheckResponse,
  HealthCheckResponse_ServingStatus,
  HealthDefinition,
} from '../gen/healthcheck.js';
import type { Exchange, HttpReply, Upstream } from '@route-registry/transcoder';
import { REQUEST_ID } from '../calls/metadata-keys.js';

const CHECK = `/${HealthDefinition.fullName}/${HealthDefinition.methods.check.name}`;
const OK: number = status.OK;
const WHOLE_SERVER = HealthCheckRequest.encode({ service: '' }).finish();

/**
 * Asks the server for its health (gRPC Health Checking Protocol): 200 `{"status":"SERVING"}`, or 503
 * `{"status":"NOT_SERVING"}` for everything else, including no answer.
 */
export async function healthReply(
  upstream: Upstream,
  exchange: Exchange,
  deadlineMs: number,
): Promise<HttpReply> {
  const reply = await upstream.unary({
    path: CHECK,
    message: WHOLE_SERVER,
    metadata: new Map([[REQUEST_ID, exchange.requestId]]),
    deadline: Date.now() + deadlineMs,
    cancellation: exchange,
  });
  const serving = reply.code === OK && isServing(reply.message);
  return {
    status: serving ? 200 : 503,
    headers: serving ? {} : { 'Retry-After': '1' },
    body: JSON.stringify({ status: serving ? 'SERVING' : 'NOT_SERVING' }),
  };
}

function isServing(message: Uint8Array | undefined): boolean {
  return (
    message !== undefined &&
    HealthCheckResponse.decode(message).status === HealthCheckResponse_ServingStatus.SERVING
  );
}
