import { randomUUID } from 'node:crypto';
import type { JsonObject } from '@bufbuild/protobuf';
import { FORWARDED_HEADERS, type ForwardedHeaders, requireTextKeys } from './http/request-headers.js';
import { requireFreeHeaders, type ResponseHeaders } from './http/response-headers.js';
import type { JsonOptions } from './json/json-options.js';
import type { LogKind, TranscoderLog } from './log.js';
import type { RequestObserver } from './request-observer.js';
import type { UnsupportedMethods } from './template/contract.js';
import type { Guard, Upstream } from './upstream.js';

/** The options of a transcoder: a contract, an upstream, and policy, all of which has defaults. */
export interface TranscoderOptions {
  /** The contract with all its imports: a serialized `google.protobuf.FileDescriptorSet`. */
  readonly descriptorSet: Uint8Array;
  /**
   * The services to serve, by their full names; each has an HTTP rule, or is left out with `unsupported: 'skip'`.
   * Default: all in files that an image of buf does not mark as imports; without such marks, all of the set.
   */
  readonly services?: readonly string[];
  /**
   * The `domain` of the errors that the transcoder itself answers with (AIP-193). Default: the proto package of the
   * first of `services`, else of the first service of the set that is served.
   */
  readonly domain?: string;
  /**
   * HTTP rules in place of the annotations of the methods that their selectors name, as in a service's YAML file:
   * `google.api.HttpRule` in ProtoJSON. Of several for a method, the last holds. Default: none.
   */
  readonly rules?: readonly JsonObject[];
  /** The gRPC server that answers. */
  readonly upstream: Upstream;
  /**
   * Decides who may learn what is wrong with a request that cannot become a call, and whose bodies are waited for.
   * Default: everybody.
   */
  readonly guard?: Guard | undefined;
  /** Prefix of all paths: segments of unreserved characters, for example `/api`. Default: none. */
  readonly basePath?: string;
  /**
   * The time limit of one call with its body, in milliseconds; a client may set a shorter one with `Request-Timeout`.
   * Default: 5,000.
   */
  readonly deadlineMs?: number;
  /** The largest body of a request, in bytes. Default: 65,536. */
  readonly maxBodyBytes?: number;
  /**
   * The most requests for methods of the contract that may be in progress at a time. At most half of them, and at least
   * one, may still be arriving. Default: 4,096.
   */
  readonly maxRequests?: number;
  /**
   * The time limit of a stream, in milliseconds, without which it ends with its call; a client may set a shorter one
   * with `Request-Timeout`. The body of its request keeps `deadlineMs`. `Infinity` means none. Default: 300,000.
   */
  readonly streamMs?: number;
  /** The most streams at a time, which take no place of `maxRequests`. Default: 256. */
  readonly maxStreams?: number;
  /** The realm in challenges (RFC 6750 3). Default: the domain. */
  readonly realm?: string;
  /** The headers that become metadata. Default: `authorization`, `traceparent` and `tracestate`. */
  readonly forwardedHeaders?: ForwardedHeaders;
  /** The metadata of replies, first and trailing, that becomes headers of responses. Default: none. */
  readonly responseHeaders?: ResponseHeaders;
  /**
   * Whether standard methods are answered as the AIPs require: 201 with `Location` for Create (AIP-133) except for a
   * dry run (AIP-163), an entity tag and caching for GET (AIP-131). Otherwise each success is a bare 200. Default:
   * true.
   */
  readonly standardMethods?: boolean;
  /** How bodies are read and written. Default: ProtoJSON with every field without presence, and nothing unknown. */
  readonly json?: JsonOptions;
  /**
   * Whether requests are also taken as grpc-gateway takes them: snake case in masks, `labels[a]=b` for maps, `{}` where a
   * method takes no body, no body for the field that is the body, no content type or `application/merge-patch+json`,
   * `Grpc-Timeout`, and a PATCH without a mask, which gets one of the fields in its body. Default: false.
   */
  readonly lenient?: boolean;
  /**
   * The treatment of what cannot be served: client and bidirectional streams, server streams if the upstream has no
   * `serverStream`, paths that go on after `**`, `GET` with a body, the later of two rules for the same requests, rules
   * that are malformed or do not fit their method, and `rules` whose selector names no method. `skip` leaves out and
   * logs; other bindings of the method stay. Default: `refuse`.
   */
  readonly unsupported?: UnsupportedMethods;
  /** Returns the id of a request, given its header `X-Request-Id`. Default: a random UUID, whatever the header. */
  readonly requestIdOf?: (given: string | undefined) => string;
  /** Runs the function that writes a response, now or later in this turn of the event loop. Default: at once. */
  readonly write?: (writing: () => void) => void;
  /** The clock, in milliseconds since the epoch. Default: the system's. */
  readonly now?: () => number;
  /** Default: nothing is logged. */
  readonly log?: TranscoderLog;
  /** The level of the lines about successful requests. Default: `debug`. */
  readonly answeredLevel?: 'info' | 'debug';
  /** Whether to write a line above `debug` about a request; called before each. Default: always. */
  readonly mayLog?: (kind: LogKind) => boolean;
  /** Observe every request, as metrics and traces do. Default: none. */
  readonly observers?: readonly RequestObserver[];
}

const ignore = (): void => undefined;

// Segments of unreserved characters: nothing that a router reads as a pattern.
const BASE_PATH = /^(?:\/[A-Za-z0-9\-._~]+)*$/;

/**
 * The options in force, except the realm, whose default is in the contract.
 *
 * @throws Error with one sentence, if an option is unknown, or the base path or a header is invalid.
 */
export function optionsInForce<Given extends Omit<TranscoderOptions, 'upstream'>>(given: Given) {
  const defaults = {
    services: undefined,
    domain: undefined,
    rules: [],
    guard: undefined,
    basePath: '',
    deadlineMs: 5_000,
    maxBodyBytes: 65_536,
    maxRequests: 4_096,
    streamMs: 300_000,
    maxStreams: 256,
    forwardedHeaders: FORWARDED_HEADERS,
    responseHeaders: new Map() as ResponseHeaders,
    standardMethods: true,
    json: {} as JsonOptions,
    lenient: false,
    unsupported: 'refuse' as const,
    requestIdOf: () => randomUUID() as string,
    write: (writing: () => void) => {
      writing();
    },
    now: Date.now,
    log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
    answeredLevel: 'debug' as const,
    mayLog: () => true,
    observers: [],
  };
  requireKnown(given, { ...defaults, descriptorSet: undefined, upstream: undefined, realm: undefined });
  const options = { ...defaults, ...given };
  const { basePath, forwardedHeaders, responseHeaders } = options;
  if (!BASE_PATH.test(basePath)) {
    throw new Error(`"${basePath}" is not a base path; "/" and a name are allowed, once or several times.`);
  }
  requireTextKeys(forwardedHeaders);
  requireFreeHeaders(responseHeaders);
  return options;
}

/** The compiler finds a misspelt option only where the caller has types. */
function requireKnown(given: object, known: object): void {
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(known, name)) throw new Error(`There is no option "${name}".`);
  }
}
