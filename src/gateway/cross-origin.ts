import type { RequestListener } from 'node:http';
import cors from 'cors';

/** The response headers that scripts of other origins may read, in addition to those that the Fetch standard always allows. */
const EXPOSED_HEADERS = [
  'Accept-Encoding',
  'Accept-Post',
  'Allow',
  'ETag',
  'Idempotent-Replayed',
  'Location',
  'Retry-After',
  'Vary',
  'WWW-Authenticate',
  'X-Request-Id',
];

/** How long a browser may cache the response to a preflight request, in seconds: the most that Chromium allows. */
const MAX_AGE_S = 7_200;

/**
 * Lets scripts of these origins call the gateway (CORS, in the Fetch standard), without cookies. Other origins get
 * no CORS headers, so browsers refuse their scripts. The scripts may set any header, such as those that monitoring adds
 * to each request: a header that the gateway does not know reaches nothing.
 *
 * @param origins origins as browsers send them; `https://*.example.app` stands for every host with one more label
 * @param answerPreflight responds to a preflight request, which needs no token
 */
export function crossOrigin(
  origins: readonly string[],
  answerPreflight: RequestListener,
): (onwards: RequestListener) => RequestListener {
  const exact = new Set(origins.filter((origin) => !origin.includes('*')));
  const matchers = origins.filter((origin) => origin.includes('*')).map(matcherOf);
  const isAllowed = (origin: string): boolean =>
    exact.has(origin) || matchers.some((matches) => matches(origin));

  const grant = cors({
    // Called only for an origin that is allowed.
    origin: true,
    exposedHeaders: EXPOSED_HEADERS,
    maxAge: MAX_AGE_S,
    preflightContinue: true,
  });

  return (onwards) => (request, response) => {
    const { origin } = request.headers;
    // Even without CORS headers: a cache must not serve this response to a script of another origin.
    response.setHeader('Vary', 'Origin');
    if (origin === undefined || !isAllowed(origin)) {
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

/** A label as browsers write it: in lower case, and other scripts in Punycode. */
const LABEL = /^[a-z0-9_-]+$/;

/** Returns the function that tells the origins that `https://*.example.app` stands for. */
function matcherOf(pattern: string): (origin: string) => boolean {
  const [before = '', after = ''] = pattern.split('*');
  return (origin) =>
    origin.startsWith(before) &&
    origin.endsWith(after) &&
    LABEL.test(origin.slice(before.length, -after.length));
}
