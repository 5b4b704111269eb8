import type { CallMetadata, Upstream } from '@route-registry/transcoder';
import type { Pipeline } from '../calls/pipeline.js';
import { sinceStart } from './clock.js';

/** The gRPC face of the same process as an upstream: its pipeline, called without a socket. */
export function memoryUpstream(pipeline: Pipeline): Upstream {
  return {
    unary: ({ path, message, metadata, deadline, cancellation }) =>
      pipeline({
        path,
        message,
        metadata: readable(metadata),
        deadline: sinceStart(deadline),
        cancellation,
      }),
  };
}

function readable(metadata: CallMetadata) {
  return {
    get: (key: string): string[] => {
      const value = metadata.get(key);
      return value === undefined ? [] : [value];
    },
  };
}
