import type { Server, ServerWritableStream } from '@grpc/grpc-js';
import { type HealthCheckResponse, service, servingStatus } from 'grpc-js-health-check';
import { HealthCheckResponse_ServingStatus as ServingStatus, HealthDefinition } from '../gen/healthcheck.js';
import { Failure } from '../registry/failure.js';
import { implement } from '../calls/service.js';
import type { CallReason, Method } from '../calls/call.js';
import type { StreamingCalls } from './streaming-calls.js';

/** The path of `Watch`. */
export const WATCH_PATH = service.Watch.path;

/** A request of `Watch`, without the service name, which may be long if the service is unknown. */
interface WatchRequest {
  readonly known: boolean;
}

type WatchStream = ServerWritableStream<WatchRequest, HealthCheckResponse>;

/**
 * `grpc.health.v1.Health` for the server as a whole (`""`) and each of its services, which share one status.
 * The initial status is not serving.
 */
export class Health {
  readonly #watchers = new Set<Watcher>();
  readonly #services: ReadonlySet<string>;
  #serving = false;
  #closed = false;

  constructor(services: readonly string[]) {
    this.#services = new Set(['', ...services]);
  }

  /** Whether this is the name of a service, or of the server as a whole. */
  knows(name: string): boolean {
    return this.#services.has(name);
  }

  get serving(): boolean {
    return this.#serving;
  }

  /** Notifies every watcher of a known service when the status changes. */
  setServing(serving: boolean): void {
    if (serving === this.#serving || this.#closed) return;
    this.#serving = serving;
    for (const watcher of this.#watchers) watcher.update(this.#statusOf(watcher));
  }

  /** `Check`, which needs no token, as a method of the pipeline. */
  methods(): Method[] {
    const unary = { ...HealthDefinition, methods: { check: HealthDefinition.methods.check } };
    return implement(unary, {
      check: {
        access: 'public',
        handle: ({ service: name }) => {
          if (!this.knows(name))
            throw new Failure<CallReason>('SERVICE_UNKNOWN', 'There is no service with this name.');
          return Promise.resolve({
            status: this.#serving ? ServingStatus.SERVING : ServingStatus.NOT_SERVING,
          });
        },
      },
    });
  }

  /** Sets the status to not serving for good and ends every watch. */
  close(): void {
    this.setServing(false);
    this.#closed = true;
    for (const watcher of this.#watchers) watcher.end();
    this.#watchers.clear();
  }

  /** Serves a watch until its client cancels or the server closes. */
  watch(stream: WatchStream): void {
    const watcher = new Watcher(stream);
    watcher.update(this.#statusOf(watcher));
    if (this.#closed) {
      watcher.end();
      return;
    }
    this.#watchers.add(watcher);
    stream.on('cancelled', () => this.#watchers.delete(watcher));
  }

  #statusOf({ knows }: Watcher): string {
    if (!knows) return servingStatus.SERVICE_UNKNOWN;
    return this.#serving ? servingStatus.SERVING : servingStatus.NOT_SERVING;
  }
}

/** Clients go on without a watch on UNIMPLEMENTED, and assume a healthy service. */
function watchUnsupported(): Failure<CallReason> {
  return new Failure<CallReason>('UNSUPPORTED', 'Too many streaming calls are open. Go on without a watch.');
}

/** Adds `Watch` to a server. Beyond the limit on streaming calls, it refuses a watch as unsupported. */
export function addWatchTo(server: Server, health: Health, calls: StreamingCalls): void {
  const { responseSerialize, requestDeserialize } = service.Watch;
  const watch = (stream: WatchStream): void => {
    if (calls.begin(stream, watchUnsupported)) health.watch(stream);
  };
  const read = (bytes: Buffer): WatchRequest => ({ known: health.knows(requestDeserialize(bytes).service) });
  server.register(WATCH_PATH, watch, responseSerialize, read, 'serverStream');
}

/** The stream of one watching client. */
class Watcher {
  /** Whether the watched service exists. */
  readonly knows: boolean;
  readonly #stream: WatchStream;
  #status = '';
  #sent = '';
  #sending = false;

  constructor(stream: WatchStream) {
    this.knows = stream.request.known;
    this.#stream = stream;
  }

  /** Sends a status that is new to the client; a slow reader gets only the latest. */
  update(status: string): void {
    this.#status = status;
    if (!this.#sending) this.#send();
  }

  /** Ends the stream after the latest status. */
  end(): void {
    this.#send();
    this.#stream.end();
  }

  #send(): void {
    if (this.#status === this.#sent) return;
    this.#sending = true;
    this.#sent = this.#status;
    this.#stream.write({ status: this.#status }, (error?: Error | null) => {
      this.#sending = false;
      if (!error) this.#send();
    });
  }
}
