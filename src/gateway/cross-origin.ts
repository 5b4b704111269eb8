import type { RequestListener } from 'node:http';
import cors from 'cors';

/** The request headers that scripts of other origins may set. */
const ALLOWED_HEADERS = [
  'Authorization',
  'Content-Encoding',
  'Content-Type',
  'Idempotency-Key',
  'If-Match',
  'If-None-Match',
  'Request-Timeout',
  'X-Request-Id',
  'traceparent',
  'tracestate',
];

/** The response headers that these scripts may read, in addition to those that the Fetch standard always allows. */
const EXPOSED_HEADERS = [
  'Accept-Encoding',
  'Accept-Post',
  'Allow',
  'ETag',
  'Location',
  'Retry-After',
  'Vary',
  'WWW-Authenticate',
  'X-Request-Id',
];

/** How long a browser may cache the response to a preflight request, in seconds: the most that Chromium allows. */
const MAX_AGE_S = 7_200;

/**
 * Lets scripts of the given origins call the gateway (CORS, in the Fetch standard), without cookies. Other origins get
 * no CORS headers, so browsers refuse their scripts.
 *
 * @param origins exact origins, as browsers send them
 * @param answerPreflight responds to a preflight request, which needs no token
 */
export function crossOrigin(
  origins: readonly string[],
  answerPreflight: RequestListener,
): (onwards: RequestListener) => RequestListener {
  const allowed = new Set<string | undefined>(origins);
  const grant = cors({
    origin: [...origins],
    allowedHeaders: ALLOWED_HEADERS,
    exposedHeaders: EXPOSED_HEADERS,
    maxAge: MAX_AGE_S,
    preflightContinue: true,
  });
  return (onwards) => (request, response) => {
    const { origin } = request.headers;
    // Even without CORS headers: a cache must not serve this response to a script of another origin.
    response.setHeader('Vary', 'Origin');
    if (!allowed.has(origin)) {
      onwards(request, response);
      return;
    }
    const isPreflight =
      request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined;
    grant(request, response, () => {
      (isPreflight ? answerPreflight : onwards)(request, response);
    });
  };
}
