import { performance } from 'node:perf_hooks';
import type { RequestObservation, RequestObserver, RequestOutcome } from '@route-registry/transcoder';
import type { MetricSet, Observe } from './metric-set.js';
import { METRICS } from './metric-table.js';
import type { CountRefusal } from './refusals.js';

/** The HTTP methods with a label of their own. */
const VERBS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
const OTHER_VERB = 'other';
const UNKNOWN_ROUTE = 'unknown';
/** The status for a client that left first, as in nginx. */
const CLIENT_GONE = 499;

/** Measures the requests over REST. */
export class RequestMetrics implements RequestObserver {
  readonly #seconds: (...labels: string[]) => Observe;
  readonly #countRefusal: CountRefusal;
  /** The histograms of requests, by HTTP method, path template and status. */
  readonly #known = new Map<string, Map<string, Map<number, Observe>>>();
  #active = 0;

  constructor(metrics: MetricSet, countRefusal: CountRefusal) {
    this.#seconds = metrics.histogram(METRICS.requestSeconds);
    this.#countRefusal = countRefusal;
    metrics.read(METRICS.activeRequests, () => [{ value: this.#active }]);
  }

  begin({ method }: { readonly method: string }): RequestObservation {
    this.#active++;
    return new MeasuredRequest(this, VERBS.has(method) ? method : OTHER_VERB);
  }

  /** Records the measurements of a request that has ended. */
  end(verb: string, ms: number, { template = UNKNOWN_ROUTE, status, reason }: RequestOutcome): void {
    this.#active--;
    this.#observerOf(verb, template, status ?? CLIENT_GONE)(ms / 1_000);
    if (status === undefined) this.#countRefusal('CANCELLED');
    else if (reason !== undefined) this.#countRefusal(reason);
  }

  #observerOf(verb: string, template: string, status: number): Observe {
    const ofVerb = ensure(this.#known, verb, () => new Map<string, Map<number, Observe>>());
    const ofTemplate = ensure(ofVerb, template, () => new Map<number, Observe>());
    return ensure(ofTemplate, status, () => this.#seconds(verb, template, String(status)));
  }
}

/** A request in progress. */
class MeasuredRequest implements RequestObservation {
  readonly #metrics: RequestMetrics;
  readonly #verb: string;
  readonly #begunAt = performance.now();

  constructor(metrics: RequestMetrics, verb: string) {
    this.#metrics = metrics;
    this.#verb = verb;
  }

  end(outcome: RequestOutcome): void {
    this.#metrics.end(this.#verb, performance.now() - this.#begunAt, outcome);
  }
}

function ensure<Key, Value>(known: Map<Key, Value>, key: Key, make: () => Value): Value {
  const found = known.get(key);
  if (found !== undefined) return found;
  const made = make();
  known.set(key, made);
  return made;
}
