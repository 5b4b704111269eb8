import type { RequestListener } from 'node:http';
import cors from 'cors';

/** The headers of requests that scripts of other origins may set. */
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

/** The headers of responses that they may read beside those that the Fetch standard lets everybody read. */
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

/** How long a browser may remember the answer to a preflight, in seconds: as long as Chromium does at most. */
const MAX_AGE_S = 7_200;

/**
 * Lets scripts of the given origins call the gateway (CORS, in the Fetch standard), without cookies. To other origins
 * nothing is said, so that browsers refuse them.
 *
 * @param origins exact ones, as browsers send them
 * @param answerPreflight answers, without a token, the question whether a script may send a request
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
    // Also where nothing is granted: a cache must not give this answer to a script of another origin.
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
