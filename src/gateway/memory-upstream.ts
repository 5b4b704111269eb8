import type { CallMetadata, UnaryReply, Upstream } from '@route-registry/transcoder';
import type { Reply } from '../calls/call.js';
import type { Pipeline } from '../calls/pipeline.js';
import { sinceStart } from './clock.js';

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
      return reply instanceof Promise ? reply.then(answered) : answered(reply);
    },
  };
}

/** The pipeline always replies, like a reachable server. */
function answered({ code, details, message, trailers, fields }: Reply): UnaryReply {
  return { code, details, answered: true, message, trailers, fields };
}

function readable(metadata: CallMetadata) {
  return {
    get: (key: string): string[] => {
      const value = metadata.get(key);
      return value === undefined ? [] : [value];
    },
  };
}
