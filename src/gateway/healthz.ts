import { randomUUID } from 'node:crypto';
import { status } from '@grpc/grpc-js';
import {
  HealthCheckRequest,
  HealthCheckResponse,
  HealthCheckResponse_ServingStatus,
  HealthDefinition,
} from '../gen/healthcheck.js';
import type {
  Exchange,
  HttpReply,
  RequestObservation,
  UnaryCall,
  Upstream,
} from '@route-registry/transcoder';
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
  const { requestId, observation } = exchange;
  const asking = { requestId, metadata: observation.metadata, cancellation: exchange };
  return (await isServing(upstream, asking)) ? SERVING : NOT_SERVING;
}

/** Asks the server for its health beside all requests. @throws Error where `GET /healthz` would be answered with 503 */
export async function requireServing(upstream: Upstream): Promise<void> {
  const cancellation = { cancelled: false, onCancelled: () => undefined };
  const asking = { requestId: randomUUID(), metadata: undefined, cancellation };
  if (!(await isServing(upstream, asking))) throw new Error('The gRPC server is not serving.');
}

/** Who asks for the health. */
interface Asking extends Pick<UnaryCall, 'cancellation'> {
  readonly requestId: string;
  /** Metadata of its observers. */
  readonly metadata: RequestObservation['metadata'];
}

async function isServing(
  upstream: Upstream,
  { requestId, metadata, cancellation }: Asking,
): Promise<boolean> {
  const { code, message } = await upstream.unary({
    path: CHECK,
    message: WHOLE_SERVER,
    metadata: new Map([...(metadata ?? []), [REQUEST_ID, requestId]]),
    deadline: Date.now() + CHECK_MS,
    cancellation,
  });
  if (code !== OK || message === undefined) return false;
  return HealthCheckResponse.decode(message).status === HealthCheckResponse_ServingStatus.SERVING;
}

const SERVING: HttpReply = { status: 200, headers: {}, body: '{"status":"SERVING"}', routine: true };

/** The reply of a gateway that should get no further requests. */
export const NOT_SERVING: HttpReply = {
  status: 503,
  headers: { 'Retry-After': '1' },
  body: '{"status":"NOT_SERVING"}',
  routine: true,
};
