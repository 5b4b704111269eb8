import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { createTranscoder, type Transcoder, type TranscoderOptions } from '@route-registry/transcoder';
import { type Page, pageReply, readOnly, type ReadReply } from '@route-registry/transcoder/page';
import express, { type Request, type Response } from 'express';
import { ImmediateBatch } from '../calls/immediate-batch.js';
import { crossOrigin } from './cross-origin.js';
import { guardOf } from './guard.js';
import { HEALTH_PATH, healthReplies, NOT_SERVING } from './healthz.js';
import { indexReply } from './index-page.js';
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

  // Responses written together cost less than responses written one by one.
  const writing = new ImmediateBatch<() => void>((write) => {
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
  const withRoutes = (transcode: Transcoder['handler']): RequestListener => {
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
    corsOrigins.length === 0 ? withRoutes(transcode) : shared(withRoutes(transcode));

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
