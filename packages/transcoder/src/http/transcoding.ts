import type { IncomingMessage } from 'node:http';
import type { ErrorReplies } from '../failures/error-reply.js';
import { methodNotAllowed, overloaded, pathUnknown } from '../failures/failure.js';
import type { HttpReply } from '../http-reply.js';
import type { JsonOptions } from '../json/json-options.js';
import { JsonOutput } from '../json/json-output.js';
import { RequestMessages } from '../message/request-message.js';
import { type Binding, successRules } from '../template/binding.js';
import type { BindingTable, Lookup } from '../template/binding-table.js';
import type { Contract } from '../template/contract.js';
import type { Guard, Upstream } from '../upstream.js';
import { ArrivingPlaces } from './arriving-places.js';
import { type Exchange, targetOf } from './exchange.js';
import { OpenStreams } from './open-streams.js';
import type { ForwardedHeaders } from './request-headers.js';
import { requestTarget } from './request-target.js';
import { type CallParts, RequestedCall } from './requested-call.js';
import type { ResponseHeaders } from './response-headers.js';
import { SuccessReplies } from './success-reply.js';
import { Uploads } from './uploads.js';

/** The options of a transcoder that apply to single requests. */
interface TranscodingOptions {
  readonly upstream: Upstream;
  readonly guard: Guard | undefined;
  readonly basePath: string;
  readonly deadlineMs: number;
  readonly maxBodyBytes: number;
  readonly maxRequests: number;
  readonly streamMs: number;
  readonly maxStreams: number;
  readonly forwardedHeaders: ForwardedHeaders;
  readonly responseHeaders: ResponseHeaders;
  readonly standardMethods: boolean;
  readonly json: JsonOptions;
  readonly lenient: boolean;
  readonly now: () => number;
}

/** The result of the look-up of a request by its method and path. */
interface RequestLookup {
  readonly found: Lookup;
  /** The query as sent; empty for none. */
  readonly query: string;
}

/** Serves HTTP requests with gRPC calls, according to the `google.api.http` annotations of a contract. */
export class Transcoding {
  readonly #basePath: string;
  readonly #maxRequests: number;
  readonly #table: BindingTable;
  /** The template of each binding, under the base path. */
  readonly #templates: ReadonlyMap<Binding, string>;
  readonly #parts: CallParts;
  readonly #streams: OpenStreams;
  /** The number of requests for unary methods that have no reply yet. */
  #underWay = 0;

  constructor({ bindings, table, registry }: Contract, errors: ErrorReplies, options: TranscodingOptions) {
    const { basePath, maxRequests, maxStreams, standardMethods, json, lenient, now } = options;
    this.#basePath = basePath;
    this.#maxRequests = maxRequests;
    this.#streams = new OpenStreams(maxStreams);
    this.#table = table;
    this.#templates = new Map(bindings.map((each) => [each, basePath + each.template.source]));
    this.#parts = {
      ...options,
      errors,
      registry,
      requests: new RequestMessages(registry, { ...json, lenient }),
      successes: new SuccessReplies(
        standardMethods ? successRules(bindings) : new Map(),
        registry,
        new JsonOutput(registry, json),
        basePath,
      ),
      uploads: new Uploads(now, new ArrivingPlaces(maxRequests)),
    };
  }

  /** Finds the binding of a request. */
  find(request: IncomingMessage): RequestLookup {
    const { path, query } = requestTarget(targetOf(request));
    return { found: this.#lookUp(String(request.method), path), query };
  }

  /** @throws Failure if no call is made, for a reason that any client may know */
  answer(exchange: Exchange, { found, query }: RequestLookup): HttpReply | Promise<HttpReply> {
    if (found.outcome === 'unknown path') throw pathUnknown();
    exchange.template = found.binding && this.#templates.get(found.binding);
    if (found.outcome === 'found') {
      if (found.binding.method.methodKind !== 'unary') {
        const open = this.#streams.open(exchange);
        return new RequestedCall(this.#parts, exchange, found, query, open).answer();
      }
      return this.#counted(() => new RequestedCall(this.#parts, exchange, found, query).answer());
    }
    const headers = { Allow: found.allowed.join(', ') };
    if (exchange.verb === 'OPTIONS') return { status: 204, headers };
    throw methodNotAllowed(headers);
  }

  /** Stops waiting for request bodies and aborts all streams, those in progress and later ones. */
  close(): void {
    this.#parts.uploads.end();
    this.#streams.end();
  }

  /** CONNECT and `OPTIONS *` target the server as a whole (RFC 9112 3.2.3 and 3.2.4). */
  #lookUp(verb: string, path: string): Lookup {
    if (verb === 'CONNECT' || (verb === 'OPTIONS' && path === '*')) {
      return { outcome: 'wrong verb', allowed: this.#table.verbs(), binding: undefined };
    }
    if (!path.startsWith(`${this.#basePath}/`)) return { outcome: 'unknown path' };
    return this.#table.find(verb, path.slice(this.#basePath.length));
  }

  readonly #answered = (): void => {
    this.#underWay -= 1;
  };

  /** @throws Failure `OVERLOADED` */
  #counted(answer: () => HttpReply | Promise<HttpReply>): HttpReply | Promise<HttpReply> {
    if (this.#underWay >= this.#maxRequests) {
      throw overloaded(`It has ${this.#maxRequests} calls under way.`);
    }
    this.#underWay += 1;
    let reply: HttpReply | Promise<HttpReply> | undefined;
    try {
      reply = answer();
    } finally {
      if (reply instanceof Promise) void reply.then(this.#answered, this.#answered);
      else this.#answered();
    }
    return reply;
  }
}
