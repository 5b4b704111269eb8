import { performance } from 'node:perf_hooks';
import type { RequestObservation, RequestObserver, RequestOutcome } from '@route-registry/transcoder';
import { Gauge, Histogram, type Registry } from 'prom-client';
import { SECONDS } from './buckets.js';
import type { CountRefusal } from './refusal-counter.js';

/** The HTTP methods with a label of their own. */
const VERBS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
const OTHER_VERB = 'other';
const UNKNOWN_ROUTE = 'unknown';
/** The status for a client that disconnected before the response, as in nginx. */
const CLIENT_GONE = 499;

/** Measures REST requests. Names and labels follow OpenTelemetry's semantic conventions for HTTP. */
export class RequestMetrics implements RequestObserver {
  readonly #countRefusal: CountRefusal;
  readonly #active: Gauge;
  readonly #seconds: Histogram;

  constructor(registry: Registry, countRefusal: CountRefusal) {
    this.#countRefusal = countRefusal;
    this.#active = new Gauge({
      name: 'http_server_active_requests',
      help: 'REST requests that are under way.',
      registers: [registry],
    });
    this.#seconds = new Histogram({
      name: 'http_server_request_duration_seconds',
      help: 'Time from the head of a REST request to its answer, in seconds.',
      labelNames: ['http_request_method', 'http_route', 'http_response_status_code'],
      buckets: SECONDS,
      registers: [registry],
    });
  }

  begin({ method }: { readonly method: string }): RequestObservation {
    this.#active.inc();
    const verb = VERBS.has(method) ? method : OTHER_VERB;
    const begunAt = performance.now();
    return {
      end: (outcome) => {
        this.#end(verb, (performance.now() - begunAt) / 1_000, outcome);
      },
    };
  }

  #end(verb: string, seconds: number, outcome: RequestOutcome): void {
    const { template = UNKNOWN_ROUTE, status = CLIENT_GONE, reason } = outcome;
    this.#active.dec();
    this.#seconds.observe(
      { http_request_method: verb, http_route: template, http_response_status_code: status },
      seconds,
    );
    if (status === CLIENT_GONE) this.#countRefusal('CANCELLED');
    else if (reason !== undefined) this.#countRefusal(reason);
  }
}
