import type { RequestListener } from 'node:http';
import type { Duplex } from 'node:stream';
import { randomUUID } from 'node:crypto';
import express, { type Request, type Response } from 'express';
import { EndOfTurn } from '../calls/end-of-turn.js';
import { clientFailure, writeClientError } from '../../packages/transcoder/src/http/client-error.js';
import { readContract } from '../../packages/transcoder/src/template/contract.js';
import { ErrorReplies } from '../../packages/transcoder/src/failures/error-reply.js';
import { Exchange } from '../../packages/transcoder/src/http/exchange.js';
import { Failure, internal } from '../../packages/transcoder/src/failures/failure.js';
import { healthReply } from './healthz.js';
import { pageReply, readOnly, type Page } from './page.js';
import { writeReply, type Reply } from '../../packages/transcoder/src/http-reply.js';
import { chosenRequestId } from '../../packages/transcoder/src/http/request-headers.js';
import { Transcoder } from '../../packages/transcoder/src/transcoder.js';
import type { Upstream } from '../../packages/transcoder/src/upstream.js';

/** Where a gateway writes what no answer tells; a pino logger is one. */
export interface GatewayLog {
  /** One line for each request that succeeded, never a URL or a payload; the cause of what a caller brought about. */
  debug(fields: object, message: string): void;
  /** One line for each request that did not. */
  info(fields: object, message: string): void;
  /** What the upstream could not do just then, with its cause as `err`. */
  warn(fields: object, message: string): void;
  /** What was not foreseen, with its cause as `err`. */
  error(fields: object, message: string): void;
}

/** What a gateway is made of. */
export interface GatewayOptions {
  /** The contract with all its imports: a serialized `google.protobuf.FileDescriptorSet`. */
  readonly descriptorSet: Uint8Array;
  /** The gRPC server that answers. */
  readonly upstream: Upstream;
  /** Prefix of all paths, for example `/api`; default none. */
  readonly basePath?: string;
  /** The longest time of one call, in milliseconds. */
  readonly deadlineMs: number;
  /** The realm that challenges name (RFC 6750 3). */
  readonly realm: string;
  /** Fixed documents to serve beside the contract's paths; default none. */
  readonly pages?: readonly Page[];
  /** Makes the id of a request that brings none; default a random UUID. */
  readonly newRequestId?: () => string;
  /** The clock, in milliseconds since the epoch; default the system's. */
  readonly now?: () => number;
  /** Default: nothing is logged. */
  readonly log?: GatewayLog;
}

/** The listeners that make a `node:http` server a gateway. */
export interface Gateway {
  /** For the event `request`. */
  readonly onRequest: RequestListener;
  /** For the event `clientError`: answers what is not HTTP in the shape of all other errors. */
  readonly onClientError: (error: Error, socket: Duplex) => void;
}

/** An exchange whose reply is known. */
interface Answered {
  readonly exchange: Exchange;
  readonly reply: Reply;
}

/** How loud the cause of a failure is in the log; that of a caller's own haste helps only who debugs. */
const LEVELS: Readonly<Record<number, 'error' | 'warn'>> = {
  429: 'warn',
  500: 'error',
  503: 'warn',
};

// Segments of unreserved characters: nothing that Express reads as a pattern.
const BASE_PATH = /^(?:\/[A-Za-z0-9\-._~]+)*$/;

/**
 * Makes a gateway: HTTP and JSON outside, unary gRPC calls to the upstream inside, joined by the
 * `google.api.http` annotations of the contract. Whatever happens, a request is answered with a status
 * and, where that is an error, `{"error":{code, status, message, details}}` (AIP-193).
 *
 * Beside the contract's paths it answers `GET /healthz` and its pages.
 *
 * @throws Error with one sentence, where the base path is not one or the contract cannot be served.
 */
export function createGateway(options: GatewayOptions): Gateway {
  const {
    upstream,
    basePath = '',
    deadlineMs,
    realm,
    pages = [],
    log = SILENT,
    newRequestId = randomUUID,
    now = Date.now,
  } = options;
  if (!BASE_PATH.test(basePath)) {
    throw new Error(`"${basePath}" is not a base path; it is "/" and a name, or several.`);
  }
  const contract = readContract(options.descriptorSet);
  const errors = new ErrorReplies({ registry: contract.registry, domain: contract.domain, realm });
  const transcoder = new Transcoder({ contract, upstream, errors, basePath, deadlineMs, now });
  const latest = new WeakMap<Duplex, Exchange>();
  /** What ended on its connection, by `onClientError`, which has told the log. */
  const cutShort = new WeakSet<Exchange>();

  const failed = (error: unknown, { requestId }: Exchange): Reply =>
    errors.ofFailure(error instanceof Failure ? error : internal(error), requestId);
  const lineOf = ({ requestId, verb, started }: Exchange): object => {
    return { requestId, method: verb, ms: now() - started };
  };
  const finish = ({ exchange, reply }: Answered): void => {
    if (cutShort.has(exchange)) return;
    const { requestId, response } = exchange;
    const line = lineOf(exchange);
    if (exchange.cancelled) {
      log.info(line, 'caller gone');
      return;
    }
    writeReply(response, reply, requestId);
    if (reply.cause !== undefined) {
      log[LEVELS[reply.status] ?? 'debug']({ requestId, err: reply.cause }, 'request failed');
    }
    log[reply.status < 400 ? 'debug' : 'info']({ ...line, status: reply.status }, 'request answered');
  };
  const finishing = new EndOfTurn(finish);
  const answering =
    (answer: (exchange: Exchange) => Reply | Promise<Reply>) =>
    (request: Request, response: Response): void => {
      const requestId = chosenRequestId(request.headers) ?? newRequestId();
      const exchange = new Exchange(request, response, requestId, now());
      latest.set(request.socket, exchange);
      let reply: Reply | Promise<Reply>;
      try {
        reply = answer(exchange);
      } catch (error) {
        reply = failed(error, exchange);
      }
      if (reply instanceof Promise) {
        void reply
          .catch((error: unknown) => failed(error, exchange))
          .then((later) => {
            finishing.add({ exchange, reply: later });
          });
      } else {
        finishing.add({ exchange, reply });
      }
    };

  const router = express.Router({ caseSensitive: true, strict: true });
  const serve = (path: string, read: (exchange: Exchange) => Reply | Promise<Reply>): void => {
    router.all(
      basePath + path,
      answering((exchange) => readOnly(exchange.verb, () => read(exchange))),
    );
  };
  serve('/healthz', (exchange) =>
    healthReply(upstream, {
      metadata: exchange.metadata(),
      deadline: now() + deadlineMs,
      cancellation: exchange,
    }),
  );
  for (const page of pages) {
    const reply = pageReply(page);
    serve(page.path, ({ request }) => reply(request.headers['if-none-match']));
  }
  const transcode = answering((exchange) => transcoder.answer(exchange));
  router.use(transcode);

  return {
    onRequest: (request, response) => {
      // A router alone, without an Express application, leaves Node's request and response as they are.
      // What it cannot read as a URL it passes on.
      router(request as Request, response as Response, () => {
        transcode(request as Request, response as Response);
      });
    },
    onClientError: (error, socket) => {
      const last = latest.get(socket);
      const underWay = last?.response.writableFinished === false ? last : undefined;
      const requestId = underWay?.requestId ?? newRequestId();
      const reply = errors.ofFailure(clientFailure(error), requestId);
      const outcome = writeClientError(socket, underWay?.response, reply, requestId);
      if (outcome === 'closed') return;
      const line = underWay === undefined ? { requestId } : lineOf(underWay);
      if (underWay !== undefined) cutShort.add(underWay);
      if (outcome === 'destroyed') log.info(line, 'connection destroyed');
      else log.info({ ...line, status: reply.status }, 'request answered');
    },
  };
}

const ignore = (): void => undefined;
const SILENT: GatewayLog = { debug: ignore, info: ignore, warn: ignore, error: ignore };
