import type {
  ServerInterceptingCall,
  ServerInterceptingCallInterface,
  ServerInterceptor,
} from '@grpc/grpc-js';
import { CallsEndedAtClose } from './calls-ended-at-close.js';
import type { SentStatus } from './early-answer.js';
import { type AnsweredCalls, ServerCall } from './server-call.js';
import { UNKNOWN_METHOD } from './strict-server.js';

/**
 * Lets the pipeline answer calls of its own methods and of unknown methods as soon as grpc-js has read them. The
 * handlers of grpc-js serve the other methods.
 */
export class CallAnswering {
  readonly interceptor: ServerInterceptor;
  readonly #late = new CallsEndedAtClose();

  constructor(answered: AnsweredCalls) {
    this.interceptor = ({ path }, innermost) => {
      if (path !== UNKNOWN_METHOD && !answered.paths.has(path)) return asClass(innermost);
      const call = new ServerCall(path, innermost, answered, this.#late);
      // Assigned by name: a function literal would keep the whole call in memory until a full garbage collection.
      const endCall = ({ code }: SentStatus): void => {
        call.endBy(code);
      };
      // When grpc-js itself ends a call, it does so here, below every interceptor.
      innermost.sendStatus = endCall;
      return asClass(call);
    };
  }

  /** Stops waiting for messages: the service is shutting down. */
  close(): void {
    this.#late.close();
  }
}

/** grpc-js needs only the interface, and `start` alone of a call that its handlers do not serve; its type names the class. */
function asClass(call: ServerInterceptingCallInterface | ServerCall): ServerInterceptingCall {
  return call as unknown as ServerInterceptingCall;
}
