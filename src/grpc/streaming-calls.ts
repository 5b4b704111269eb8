import type { ServerInterceptingCall, ServerInterceptor } from '@grpc/grpc-js';
import { CallsEndedAtClose } from './calls-ended-at-close.js';
import { type OpenCalls, StreamingCall, type StreamingCallsOptions } from './streaming-call.js';

/**
 * The streaming calls of grpc-js's own handlers: limited in number and time, and read no faster than their answers are
 * taken. A handler that pauses is not enough: grpc-js reads on, and keeps sixteen messages for each call.
 */
export class StreamingCalls {
  readonly #options: StreamingCallsOptions;
  readonly #open: OpenCalls = { all: new Set(), limited: new CallsEndedAtClose() };

  constructor(options: StreamingCallsOptions) {
    this.#options = options;
  }

  readonly interceptor: ServerInterceptor = ({ path }, call) => {
    const limitMs = this.#options.longestMs.get(path);
    // grpc-js needs only the interface, although its type names the class.
    if (limitMs === undefined) return call as unknown as ServerInterceptingCall;
    return new StreamingCall(call, path, limitMs, this.#options, this.#open);
  };

  /** Ends the calls with a time limit, and accepts no more. The handlers end the others. */
  close(): void {
    this.#open.limited.close();
  }
}
