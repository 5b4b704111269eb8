import { SpanKind, SpanStatusCode, type Tracer } from '@opentelemetry/api';
import type { RequestObserver } from '@route-registry/transcoder';
import { metadataOf, parentOf } from './trace-context.js';

/**
 * The methods of RFC 9110 and RFC 5789. Others become `_OTHER`, as the conventions require; the service supports none.
 */
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

/** The lowest HTTP status of a server error. */
const SERVER_ERROR = 500;

/**
 * Creates a SERVER span for each HTTP request (OpenTelemetry semantic conventions, HTTP server spans). The span holds
 * the path's template but not the path, which may contain a misplaced token. If the client disconnects before the
 * response, the span has no status.
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
