import type { Server, ServerWritableStream } from '@grpc/grpc-js';
import {
  type HealthCheckRequest,
  type HealthCheckResponse,
  service,
  servingStatus,
} from 'grpc-js-health-check';
import { HealthCheckResponse_ServingStatus as ServingStatus, HealthDefinition } from '../gen/healthcheck.js';
import { CallError } from '../calls/failures.js';
import { implement } from '../calls/implement-service.js';
import type { Method } from '../calls/method.js';

type Watcher = ServerWritableStream<HealthCheckRequest, HealthCheckResponse>;

/**
 * `grpc.health.v1.Health` for the server as a whole (`""`) and each of its services, which share one status.
 * The initial status is not serving.
 */
export class Health {
  readonly #watchers = new Map<string, Set<Watcher>>();
  readonly #services: ReadonlySet<string>;
  #serving = false;
  #closed = false;

  constructor(services: readonly string[]) {
    this.#services = new Set(['', ...services]);
  }

  get serving(): boolean {
    return this.#serving;
  }

  /** Notifies every watcher of a known service when the status changes. */
  setServing(serving: boolean): void {
    if (serving === this.#serving || this.#closed) return;
    this.#serving = serving;
    for (const service of this.#services) {
      for (const watcher of this.#watchers.get(service) ?? []) watcher.write(this.#response(service));
    }
  }

  /** `Check`, which needs no token, as a method of the pipeline. */
  methods(): Method[] {
    const unary = { ...HealthDefinition, methods: { check: HealthDefinition.methods.check } };
    return implement(unary, {
      check: {
        access: 'public',
        handle: ({ service: name }) => {
          if (!this.#services.has(name))
            throw new CallError('SERVICE_UNKNOWN', 'There is no service with this name.');
          return Promise.resolve({
            status: this.#serving ? ServingStatus.SERVING : ServingStatus.NOT_SERVING,
          });
        },
      },
    });
  }

  /** Adds `Watch`, whose stream ends when the client goes or the server closes. */
  addWatchTo(server: Server): void {
    const { path, responseSerialize, requestDeserialize } = service.Watch;
    const watch = (watcher: Watcher): void => {
      this.#watch(watcher);
    };
    server.register(path, watch, responseSerialize, requestDeserialize, 'serverStream');
  }

  /** Sets the status to not serving for good and ends every watch. */
  close(): void {
    this.setServing(false);
    this.#closed = true;
    for (const watchers of this.#watchers.values()) for (const watcher of watchers) watcher.end();
    this.#watchers.clear();
  }

  #watch(watcher: Watcher): void {
    const { service: name } = watcher.request;
    watcher.write(this.#response(name));
    if (this.#closed) {
      watcher.end();
      return;
    }
    const watchers = this.#watchers.get(name) ?? new Set();
    this.#watchers.set(name, watchers.add(watcher));
    watcher.on('cancelled', () => {
      watchers.delete(watcher);
      if (watchers.size === 0) this.#watchers.delete(name);
    });
  }

  #response(name: string): HealthCheckResponse {
    if (!this.#services.has(name)) return { status: servingStatus.SERVICE_UNKNOWN };
    return { status: this.#serving ? servingStatus.SERVING : servingStatus.NOT_SERVING };
  }
}
