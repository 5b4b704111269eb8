import { IDEMPOTENCY_KEY, IDEMPOTENT_REPLAYED } from '../calls/call.js';
import { requestIdOf } from '../calls/pipeline.js';
import { protobufPackage } from '../gen/routing/v1/route_service.js';

/** How the gateway transcodes, whatever its settings; the OpenAPI document follows the same options. */
export const TRANSCODING = {
  /**
   * The headers that become metadata, each with the treatment of a value that metadata cannot carry. A credential is
   * masked, so that it is refused as invalid, not as missing; an invalid trace context is ignored (W3C Trace Context).
   */
  forwardedHeaders: new Map([
    ['authorization', 'mask'],
    [IDEMPOTENCY_KEY, 'refuse'],
    ['traceparent', 'drop'],
    ['tracestate', 'drop'],
  ] as const),
  /** By default, it would be the first package of the contract by name. */
  domain: protobufPackage,
  responseHeaders: new Map([[IDEMPOTENT_REPLAYED, 'Idempotent-Replayed']]),
  json: { omit: 'unassigned', milliseconds: true },
  requestIdOf,
} as const;
