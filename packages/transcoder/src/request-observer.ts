import type { IncomingHttpHeaders } from 'node:http';

/** Observes requests, as metrics and traces do. Its functions must not throw. */
export interface RequestObserver {
  /**
   * Called once the head of a request has arrived, before anything is decided. For bytes that are not an HTTP request,
   * the method is empty and there are no headers.
   */
  begin(request: { readonly method: string; readonly headers: IncomingHttpHeaders }): RequestObservation;
}

/** The observation of one request, until its end. */
export interface RequestObservation {
  /** Metadata of the upstream call, which replaces the client's under the same keys, such as `traceparent`. */
  readonly metadata?: ReadonlyMap<string, string> | undefined;
  /** Added to each log line about the request. */
  readonly fields?: Readonly<Record<string, string>> | undefined;
  /** Called once, when the request is answered or its client has gone. */
  end(outcome: RequestOutcome): void;
}

/** The end of a request. */
export interface RequestOutcome {
  /**
   * The path template of the matched method, as the contract writes it under the base path, or the template that
   * `respond` set. Undefined for an unknown path, and if the request was refused before its path was read.
   */
  readonly template: string | undefined;
  /** The HTTP status; undefined if the client left first. */
  readonly status: number | undefined;
  /** The reason of the error, if it has one. */
  readonly reason: string | undefined;
  readonly requestId: string;
}

const UNOBSERVED: RequestObservation = { end: () => undefined };

/** Several observers as one. If they give the same metadata or field, the last one wins. */
export function joinObservers(observers: readonly RequestObserver[]): RequestObserver {
  const [only, ...others] = observers;
  if (only === undefined) return { begin: () => UNOBSERVED };
  if (others.length === 0) return only;
  return { begin: (request) => joined(observers.map((observer) => observer.begin(request))) };
}

function joined(observations: readonly RequestObservation[]): RequestObservation {
  return {
    metadata: new Map(observations.flatMap(({ metadata }) => [...(metadata ?? [])])),
    fields: Object.fromEntries(observations.flatMap(({ fields }) => Object.entries(fields ?? {}))),
    end(outcome) {
      for (const observation of observations) observation.end(outcome);
    },
  };
}
