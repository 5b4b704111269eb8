import type { CallMetadata, UnaryReply, Upstream } from '@route-registry/transcoder';
import type { Reply } from '../calls/call.js';
import type { Pipeline } from '../calls/pipeline.js';

/** The pipeline in this process as an upstream, called without a socket. */
export function memoryUpstream(pipeline: Pipeline): Upstream {
  return {
    unary: ({ path, message, metadata, deadline, cancellation }) => {
      const reply = pipeline({ path, message, metadata: readable(metadata), deadline, cancellation });
      return reply instanceof Promise ? reply.then(toUpstreamReply) : toUpstreamReply(reply);
    },
  };
}

/** The pipeline always replies, like a reachable server. */
function toUpstreamReply({ code, details, message, trailers, fields }: Reply): UnaryReply {
  return { code, details, answered: true, message, trailers, callerKnown: fields !== undefined, fields };
}

function readable(metadata: CallMetadata) {
  return {
    get: (key: string): string[] => {
      const value = metadata.get(key);
      return value === undefined ? [] : [value];
    },
  };
}

/**
 * The clock of all deadlines in this process, that of `performance.now()`, in whole milliseconds: they do not move when
 * the wall clock jumps.
 */
export function now(): number {
  return Math.floor(performance.now());
}

/** Adapts an upstream that expects deadlines on the wall clock. */
export function onWallClock(upstream: Upstream): Upstream {
  return {
    unary: (call) => upstream.unary({ ...call, deadline: call.deadline - now() + Date.now() }),
  };
}
