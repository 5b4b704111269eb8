import { SpanKind, SpanStatusCode, type Tracer } from '@opentelemetry/api';
import type { RequestObserver } from '@route-registry/transcoder';
import { metadataOf, parentOf } from './trace-context.js';

/** The methods of RFC 9110 and RFC 5789. Others are `_OTHER`, as the conventions ask; the service answers none of them. */
const KNOWN_METHODS: ReadonlySet<string> = new Set([
  'CONNECT',
  'DELETE',
  'GET',
  'HEAD',
  'OPTIONS',
  'PATCH',
  'POST',
  'PUT',
  'TRACE',
]);

/** The least status that is the server's fault. */
const SERVER_ERROR = 500;

/**
 * A SERVER span for each HTTP request (OpenTelemetry semantic conventions, HTTP server spans). It names no path, only
 * its template: a path may hold a token in the wrong place. A client that goes first leaves a span without a status.
 *
 * @param scheme `http` or `https`
 */
export function requestSpans(tracer: Tracer, scheme: string): RequestObserver {
  return {
    begin({ method, headers }) {
      const known = KNOWN_METHODS.has(method);
      const name = known ? method : 'HTTP';
      const attributes = {
        ...(known
          ? { 'http.request.method': method }
          : { 'http.request.method': '_OTHER', 'http.request.method_original': method }),
        'url.scheme': scheme,
      };
      const parent = parentOf((key) => headers[key]?.toString());
      const span = tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, parent);
      return {
        metadata: metadataOf(span),
        fields: { traceId: span.spanContext().traceId },
        end({ template, status }) {
          if (template !== undefined)
            span.updateName(`${name} ${template}`).setAttribute('http.route', template);
          if (status !== undefined) span.setAttribute('http.response.status_code', status);
          if (status !== undefined && status >= SERVER_ERROR) {
            span.setAttribute('error.type', String(status)).setStatus({ code: SpanStatusCode.ERROR });
          }
          span.end();
        },
      };
    },
  };
}
