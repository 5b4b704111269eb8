import type { IncomingHttpHeaders } from 'node:http';

/** Watches requests, as metrics and traces do. Its functions must not throw. */
export interface RequestObserver {
  /**
   * Called once the head of a request is here, before anything is decided. For bytes that are no HTTP request, the
   * method is empty and there are no headers.
   */
  begin(request: { readonly method: string; readonly headers: IncomingHttpHeaders }): RequestObservation;
}

/** What an observer adds to one request, and how it learns of its end. */
export interface RequestObservation {
  /** Metadata of the upstream call, in place of what the client sent under the same keys, such as `traceparent`. */
  readonly metadata?: ReadonlyMap<string, string> | undefined;
  /** Added to each log line about the request. */
  readonly fields?: Readonly<Record<string, string>> | undefined;
  /** Called once, when the request is answered, or its client is gone. */
  end(outcome: RequestOutcome): void;
}

/** The end of a request. */
export interface RequestOutcome {
  /**
   * What the path was recognized as: the path template of a method, as the contract writes it under the base path, or
   * whatever `respond` set. Undefined for an unknown path, and where the request was refused before its path was read.
   */
  readonly template: string | undefined;
  /** The HTTP status; undefined where the client went first. */
  readonly status: number | undefined;
  /** The reason of the error, if it has one. */
  readonly reason: string | undefined;
  readonly requestId: string;
}

const UNOBSERVED: RequestObservation = { end: () => undefined };

/** Several observers as one. Where they give the same metadata or field, the last one does. */
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
