import { ServerInterceptingCall, type ServerInterceptor } from '@grpc/grpc-js';
import { CallsEndedAtClose } from './calls-ended-at-close.js';
import { type AnsweredCalls, type SentStatus, ServerCall } from './server-call.js';
import { UNKNOWN_METHOD } from './strict-server.js';

/**
 * Lets the pipeline answer the calls of its own methods, and calls of unknown methods, as soon as grpc-js has read
 * them. The handlers of grpc-js are for the other methods.
 */
export class CallAnswering {
  readonly interceptor: ServerInterceptor;
  readonly #late = new CallsEndedAtClose();

  constructor(answered: AnsweredCalls) {
    this.interceptor = ({ path }, innermost) => {
      if (path !== UNKNOWN_METHOD && !answered.paths.has(path)) {
        return new ServerInterceptingCall(innermost);
      }
      const call = new ServerCall(path, innermost, answered, this.#late);
      const start = innermost.start.bind(innermost);
      // V8 allocates a function literal that is assigned to a property in the old generation, where these would keep
      // the whole call alive until a full collection. So they are assigned by name.
      const startCall = (): void => {
        start(call);
      };
      const endCall = ({ code }: SentStatus): void => {
        call.endBy(code);
      };
      innermost.start = startCall;
      // grpc-js ends the calls that it ends itself here, below every interceptor.
      innermost.sendStatus = endCall;
      // grpc-js needs only the interface, though its type names the class.
      return innermost as unknown as ServerInterceptingCall;
    };
  }

  /** Waits for no more messages: the service is shutting down. */
  endLate(): void {
    this.#late.close();
  }
}
