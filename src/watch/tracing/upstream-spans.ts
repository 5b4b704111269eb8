import { status } from '@grpc/grpc-js';
import { type Attributes, SpanKind, SpanStatusCode, type Tracer } from '@opentelemetry/api';
import { GUARD_ONLY } from '../../calls/call.js';
import type { UnaryCall, UnaryReply, Upstream } from '@route-registry/transcoder';
import { metadataOf, parentOf } from './trace-context.js';

const OK: number = status.OK;
const ABORTED: number = status.ABORTED;
/** One host and its port; the host may be resolved with DNS. */
const TARGET = /^(?:dns:(?:\/\/[^/]*\/)?)?(?:\[([^\]]+)\]|([^:,/[\]]+)):(\d+)$/;

/**
 * Creates a CLIENT span for each call over a channel (OpenTelemetry semantic conventions, gRPC client spans), which is
 * the parent of the server's own span.
 *
 * @param target a target of grpc-js
 */
export function tracedUpstream(upstream: Upstream, target: string, tracer: Tracer): Upstream {
  const server = serverOf(target);
  return {
    unary(call) {
      const name = call.path.slice(1);
      const attributes = { 'rpc.system.name': 'grpc', 'rpc.method': name, ...server };
      const parent = parentOf((key) => call.metadata.get(key));
      const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }, parent);
      const end = (reply: UnaryReply): UnaryReply => {
        const code = status[reply.code] ?? 'UNKNOWN';
        span.setAttribute('rpc.response.status_code', code);
        if (reply.code !== OK && !isAdmission(call, reply))
          span.setAttribute('error.type', code).setStatus({ code: SpanStatusCode.ERROR });
        span.end();
        return reply;
      };
      const metadata = new Map([...call.metadata, ...metadataOf(span)]);
      const reply = upstream.unary({ ...call, metadata });
      return reply instanceof Promise ? reply.then(end) : end(reply);
    },
  };
}

/** Whether the guard has admitted a guard-only call. */
function isAdmission({ metadata }: UnaryCall, { code }: UnaryReply): boolean {
  return code === ABORTED && metadata.has(GUARD_ONLY);
}

/** The server in a target: its host and port, or else the whole target. */
export function serverOf(target: string): Attributes {
  const [, ipv6, name, port] = TARGET.exec(target) ?? [];
  const host = ipv6 ?? name;
  return host === undefined
    ? { 'server.address': target }
    : { 'server.address': host, 'server.port': Number(port) };
}
