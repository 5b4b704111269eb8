import { performance } from 'node:perf_hooks';
import type { CallMetadata, UnaryReply, Upstream } from '@route-registry/transcoder';
import type { Reply } from '../calls/call.js';
import type { Pipeline } from '../calls/pipeline.js';

/** The pipeline in this process as an upstream, called without a socket. */
export function memoryUpstream(pipeline: Pipeline): Upstream {
  return {
    unary: ({ path, message, metadata, deadline, cancellation }) => {
      const reply = pipeline({
        path,
        message,
        metadata: readable(metadata),
        deadline: sinceStart(deadline),
        cancellation,
      });
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
 * The clock of the gateway's deadlines: whole milliseconds since the epoch. It is monotonic within this process, so
 * that deadlines do not move when the wall clock jumps.
 */
export function now(): number {
  return Math.floor(performance.timeOrigin + performance.now());
}

/** Converts a time of this clock to the clock of `performance.now()`. */
function sinceStart(time: number): number {
  return time - performance.timeOrigin;
}

/** Adapts an upstream that expects deadlines on the wall clock to calls with deadlines on this clock. */
export function onWallClock(upstream: Upstream): Upstream {
  return {
    unary: (call) => upstream.unary({ ...call, deadline: call.deadline - now() + Date.now() }),
  };
}
