import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { createTranscoder, type Transcoder, type TranscoderOptions } from '@route-registry/transcoder';
import { type Page, pageReply, readOnly, type ReadReply } from '@route-registry/transcoder/page';
import cors from 'cors';
import express, { type Request, type Response } from 'express';
import { EndOfTurn } from '../calls/call.js';
import { guardOf } from './guard.js';
import { HEALTH_PATH, healthReplies, NOT_SERVING } from './healthz.js';
import { TRANSCODING } from './transcoding.js';
import { now } from './upstream.js';

type Configured = 'descriptorSet' | 'upstream' | 'deadlineMs' | 'maxBodyBytes' | 'maxRequests' | 'realm';
type Watched = 'log' | 'mayLog' | 'answeredLevel' | 'observers';

interface GatewayOptions
  extends
    Required<Pick<TranscoderOptions, Configured>>,
    Pick<TranscoderOptions, 'replyCacheBytes' | Watched> {
  /** As the transcoder's option. */
  readonly basePath: string;
  /** The origins whose scripts may call the gateway, as browsers send them; empty for none. */
  readonly corsOrigins: readonly string[];
  /** Fixed documents to serve in addition to the contract's paths. */
  readonly pages: readonly Page[];
}

/** The gateway, as listeners for the events of a `node:http` server. */
export interface Gateway extends Pick<
  Transcoder,
  'isAuthenticated' | 'onClientError' | 'onConnect' | 'replyCache'
> {
  readonly onRequest: RequestListener;
  /** Requests the client's body (status 100) once the guard has admitted the request. */
  readonly onCheckContinue: RequestListener;
  /**
   * Makes `GET /healthz` respond with 503, so that load balancers send no more requests. All others are still served.
   */
  readonly drain: () => void;
  /** For a closing server whose grace period is over: responds with 503 to requests whose bodies are still arriving. */
  readonly onClose: () => void;
}

/**
 * Creates the gateway: the contract over REST, `GET /healthz`, the pages, and an index of them at the base path.
 *
 * @throws Error with one sentence when the base path is invalid or the contract cannot be served
 */
export function createGateway(options: GatewayOptions): Gateway {
  const { corsOrigins, pages, ...transcoding } = options;
  const { upstream, basePath } = transcoding;
  // Responses written together cost less than responses written one by one (decision 13).
  const writing = new EndOfTurn<() => void>((write) => {
    write();
  });
  const transcoder = createTranscoder({
    ...transcoding,
    ...TRANSCODING,
    guard: guardOf(upstream),
    now,
    write: (write) => {
      writing.add(write);
    },
  });
  let draining = false;

  const healthReply = healthReplies(upstream);
  const health: ReadReply = (exchange) => (draining ? NOT_SERVING : healthReply(exchange));
  const ours: ReadonlyMap<string, ReadReply> = new Map([
    [HEALTH_PATH, health],
    [basePath === '' ? '/' : '', indexReply(basePath, pages)],
    ...pages.map((page) => [page.path, pageReply(page)] as const),
  ]);

  // A bare router, without an Express application, does not modify Node's request and response. It calls its last
  // argument for requests that match no route, and for those whose URL it cannot parse.
  const routed = (transcode: Transcoder['handler']): RequestListener => {
    const router = express.Router({ caseSensitive: true, strict: true });
    // The contract comes first, since nearly all requests are for it.
    router.use(transcode);
    for (const [path, read] of ours) {
      router.all(basePath + path, (request: IncomingMessage, response: ServerResponse) => {
        transcoder.respond(request, response, (exchange) => {
          exchange.template = basePath + path;
          return readOnly(exchange, read);
        });
      });
    }
    return (request, response) => {
      router(request as Request, response as Response, () => {
        transcode(request, response);
      });
    };
  };
  const shared = crossOrigin(corsOrigins, (request, response) => {
    transcoder.respond(request, response, () => ({ status: 204, headers: {} }));
  });
  const listener = (transcode: Transcoder['handler']): RequestListener =>
    corsOrigins.length === 0 ? routed(transcode) : shared(routed(transcode));

  return {
    onRequest: listener(transcoder.handler),
    onCheckContinue: listener(transcoder.onCheckContinue),
    onClientError: transcoder.onClientError,
    onConnect: transcoder.onConnect,
    get replyCache() {
      return transcoder.replyCache;
    },
    drain: () => {
      draining = true;
    },
    onClose: transcoder.close,
    isAuthenticated: transcoder.isAuthenticated,
  };
}

/** The response at the base path depends on what the client accepts. */
const BY_ACCEPT = { Vary: 'Accept' };

/**
 * The index at the base path: the paths of the named pages and of the health check,
 * `{"docs":"/docs","health":"/healthz"}`. A browser is redirected to the first named HTML page, if there is one.
 */
function indexReply(basePath: string, pages: readonly Page[]): ReadReply {
  const named = pages.filter(({ name }) => name !== undefined);
  const places = [
    ...named.map(({ name, path }) => [name, basePath + path]),
    ['health', basePath + HEALTH_PATH],
  ];
  const index = pageReply({
    path: '',
    contentType: 'application/json',
    body: () => Buffer.from(JSON.stringify(Object.fromEntries(places))),
    headers: BY_ACCEPT,
  });
  const forPeople = named.find(({ contentType }) => contentType.startsWith('text/html'));
  if (forPeople === undefined) return index;
  // Relative, since a proxy may serve the base path under a prefix of its own.
  const last = basePath.slice(basePath.lastIndexOf('/') + 1);
  const place = (last + forPeople.path).replace(/^\//, '');
  const headers = { ...BY_ACCEPT, Location: place, 'Cache-Control': 'no-cache' };
  return (exchange) => (prefersHtml(exchange.request) ? { status: 302, headers } : index(exchange));
}

/** A client that accepts anything, as curl does, gets JSON. */
function prefersHtml(request: IncomingMessage): boolean {
  return express.request.accepts.call(request, 'json', 'html') === 'html';
}

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
 * Lets scripts of the given origins call the gateway (CORS, in the Fetch standard), without cookies. Other origins get
 * no CORS headers, so browsers refuse their scripts. The scripts may set any header, such as those that monitoring adds
 * to each request: a header that the gateway does not know reaches nothing.
 *
 * @param origins origins as browsers send them; `https://*.example.app` stands for every host with one more label
 * @param answerPreflight responds to a preflight request, which needs no token
 */
function crossOrigin(
  origins: readonly string[],
  answerPreflight: RequestListener,
): (onwards: RequestListener) => RequestListener {
  const exact = new Set(origins.filter((each) => !each.includes('*')));
  const matchers = origins.filter((each) => each.includes('*')).map(matcherOf);
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
