import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import {
  createTranscoder,
  type LogKind,
  type RequestObserver,
  type Transcoder,
  type TranscoderLog,
  type Upstream,
} from '@route-registry/transcoder';
import express, { type Request, type Response } from 'express';
import { EndOfTurn } from '../calls/end-of-turn.js';
import { IDEMPOTENCY_KEY } from '../calls/metadata-keys.js';
import { requestIdOf } from '../calls/request-id.js';
import { crossOrigin } from './cross-origin.js';
import { guardOf } from './guard.js';
import { HEALTH_PATH, healthReply, NOT_SERVING } from './healthz.js';
import { indexPage, pageReply, readOnly, type Page, type ReadReply } from './page.js';

/** The parts and limits of a gateway. */
export interface GatewayOptions {
  /** The contract with all its imports: a serialized `google.protobuf.FileDescriptorSet`. */
  readonly descriptorSet: Uint8Array;
  /** The gRPC server that answers. */
  readonly upstream: Upstream;
  /** Prefix of all paths, for example `/api`; empty for none. */
  readonly basePath: string;
  /** The longest time of one call with its body, in milliseconds. */
  readonly deadlineMs: number;
  /** The largest body of a request, in bytes, as sent and decoded. */
  readonly maxBodyBytes: number;
  /** Requests for methods of the contract that may be under way at a time. */
  readonly maxRequests: number;
  /** The realm that challenges name (RFC 6750 3). */
  readonly realm: string;
  /** The origins whose scripts may call, as browsers send them; none where the list is empty. */
  readonly corsOrigins: readonly string[];
  /** Fixed documents to serve beside the contract's paths. */
  readonly pages: readonly Page[];
  readonly log: TranscoderLog;
  /** Whether to write a line that a client provoked. Default: always. */
  readonly mayLog?: (kind: LogKind) => boolean;
  /** The level of the lines about successful requests. Default: `debug`. */
  readonly answeredLevel?: 'info' | 'debug';
  /** Watch every request. Default: none. */
  readonly observers?: readonly RequestObserver[];
}

/** The listeners that make a `node:http` server a gateway. */
export interface Gateway {
  /** For the event `request`. */
  readonly onRequest: RequestListener;
  /** For the event `checkContinue`: lets a client send its body once the guard has let it pass. */
  readonly onCheckContinue: RequestListener;
  /** For the event `clientError`: answers what is not HTTP in the shape of all other errors. */
  readonly onClientError: (error: Error, socket: Duplex) => void;
  /** For the event `connect`: refuses a tunnel in the same shape. */
  readonly onConnect: (request: IncomingMessage) => void;
  /** Tells balancers, by `GET /healthz`, to send no further requests. All requests are answered as before. */
  readonly drain: () => void;
  /** Ends the requests whose bodies are still arriving, and from now on all that do not come whole. */
  readonly endUploads: () => void;
}

/**
 * The headers that become metadata, and what becomes of a value that metadata cannot carry. Masked, a credential is
 * refused as a wrong one, not as a missing one; a broken trace context is as good as none (W3C Trace Context).
 */
const FORWARDED_HEADERS = new Map([
  ['authorization', 'mask'],
  [IDEMPOTENCY_KEY, 'refuse'],
  ['traceparent', 'drop'],
  ['tracestate', 'drop'],
] as const);

/**
 * Makes the gateway: the contract over REST, `GET /healthz`, pages, and at the base path where they are.
 *
 * @throws Error with one sentence, where the base path is not one or the contract cannot be served.
 */
export function createGateway(options: GatewayOptions): Gateway {
  const { upstream, basePath, corsOrigins, pages } = options;
  // Responses written together cost less than responses written one by one (decision 13).
  const writing = new EndOfTurn<() => void>((write) => {
    write();
  });
  const transcoder = createTranscoder({
    ...options,
    guard: guardOf(upstream),
    forwardedHeaders: FORWARDED_HEADERS,
    omitUnassigned: true,
    requestIdOf,
    write: (write) => {
      writing.add(write);
    },
  });
  let draining = false;

  const health: ReadReply = (exchange) => (draining ? NOT_SERVING : healthReply(upstream, exchange));
  const ours: ReadonlyMap<string, ReadReply> = new Map([
    [HEALTH_PATH, health],
    ...[indexPage(basePath, pages), ...pages].map((page) => [page.path, pageReply(page)] as const),
  ]);

  // A router alone, without an Express application, leaves Node's request and response as they are. It passes on
  // what it does not know, and what it cannot read as a URL.
  const routed = (transcode: Transcoder['handler']): RequestListener => {
    const router = express.Router({ caseSensitive: true, strict: true });
    // First the contract, which nearly all requests are for.
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
    drain: () => {
      draining = true;
    },
    endUploads: transcoder.endUploads,
  };
}
