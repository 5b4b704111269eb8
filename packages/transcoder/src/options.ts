import { DEFAULT_HOOKS, type Hooks } from './hooks.js';
import type { JsonOptions } from './json/json-options.js';
import { FORWARDED_HEADERS, type ForwardedHeaders, Forwarding } from './metadata/forwarded-headers.js';
import { ReplyHeaders, type ResponseHeaders } from './metadata/response-headers.js';
import {
  BYTES,
  checkedOptions,
  FLAG,
  FUNCTION,
  type Defined,
  objectWith,
  HEADER_TEXT,
  type Kind,
  LIST,
  MAP,
  MILLISECONDS,
  MILLISECONDS_OR_INFINITY,
  numberFrom,
  OBJECT,
  oneOf,
  TEXT,
  TEXTS,
} from './option-kinds.js';
import type { StreamEvents } from './http/stream-formats.js';
import type { ContractOptions } from './template/contract.js';
import type { Guard, Upstream } from './upstream.js';

type Optional<Options> = { readonly [Name in keyof Options]?: Options[Name] | undefined };

/** Options of `createTranscoder`: a contract, an upstream, and policy. All policy options have defaults. */
export interface TranscoderOptions extends Omit<ContractOptions, 'serverStreams'>, Optional<Hooks> {
  /** The contract: a serialized `google.protobuf.FileDescriptorSet` with all imports. */
  readonly descriptorSet: Uint8Array;
  /** The gRPC server to call. */
  readonly upstream: Upstream;
  /**
   * Decides which clients may learn why their request cannot become a call, and whose bodies are waited for. Default:
   * all clients.
   */
  readonly guard?: Guard | undefined;
  /** Prefix of all paths: segments of unreserved characters, for example `/api`. Default: none. */
  readonly basePath?: string | undefined;
  /**
   * The time limit of a call, including the arrival of its body, in milliseconds. A client can set a shorter one with
   * `Request-Timeout`. Default: 5,000.
   */
  readonly deadlineMs?: number | undefined;
  /** The maximum size of a request body, in bytes. Default: 65,536. */
  readonly maxBodyBytes?: number | undefined;
  /**
   * The maximum number of requests for unary methods that may be in progress. Up to half of that number of requests,
   * and at least one, may still be arriving; a quarter of these may have the same `authorization`. Further requests are
   * refused as `OVERLOADED`. Default: 4,096.
   */
  readonly maxRequests?: number | undefined;
  /**
   * The time limit of a stream, in milliseconds; `Infinity` means no limit. A client can set a shorter one with
   * `Request-Timeout`. The arrival of the request body is still limited by `deadlineMs`. Default: 300,000.
   */
  readonly streamMs?: number | undefined;
  /** The maximum number of open streams, which do not count towards `maxRequests`. Default: 256. */
  readonly maxStreams?: number | undefined;
  /** The realm in `WWW-Authenticate: Bearer` challenges (RFC 6750 3). Default: the domain. */
  readonly realm?: string | undefined;
  /** The request headers to forward as metadata. Default: `authorization`, `traceparent` and `tracestate`. */
  readonly forwardedHeaders?: ForwardedHeaders | undefined;
  /** The initial and trailing metadata to send as response headers. Default: none. */
  readonly responseHeaders?: ResponseHeaders | undefined;
  /**
   * Whether successful responses follow the AIPs for standard methods: 201 with `Location` for Create (AIP-133), except
   * for a dry run (AIP-163), and an entity tag and caching for GET (AIP-131). Otherwise every success is a plain 200.
   * Default: true.
   */
  readonly standardMethods?: boolean | undefined;
  /**
   * The memory for rendered replies to GET that clients may cache, in bytes: a repeated message is then not rendered
   * again. The server is still called for each request, so no reply is stale. The least recently used replies are
   * evicted, none above 16 KiB is kept, and of new replies to a full cache one of eight. Default: 0, which keeps none.
   */
  readonly replyCacheBytes?: number | undefined;
  /**
   * The query parameters to ignore where the method has no such field, such as those that proxies, analytics and API
   * keys add; a final `*` makes a prefix (`utm_*`). Other unknown parameters are refused. Default: none; all with
   * `lenient`.
   */
  readonly ignoredParameters?: Iterable<string> | undefined;
  /**
   * How JSON bodies are read and written. Default: responses include every field without presence, and unknown fields
   * in requests are refused.
   */
  readonly json?: JsonOptions | undefined;
  /**
   * Whether to accept what grpc-gateway accepts: snake_case names in field masks of bodies, `labels[a]=b` for maps, `{}` for a
   * method without a body, no body for a method whose body is a field, any content type or none, which browsers send to
   * other sites without asking (so never with cookies), `Grpc-Timeout`, query parameters that no field has, which are ignored, and a PATCH
   * without a field mask, which gets one with the fields in its body. Streams are then written as grpc-gateway's
   * `{"result":…}` lines. Default: false.
   */
  readonly lenient?: boolean | undefined;
  /**
   * How Server-Sent Events are written: with events named `end` and `failure`, or `plain`, for clients that take the event at
   * the end for a message: without it, and with a failure as an event named `error`. Default: `named`.
   */
  readonly events?: StreamEvents | undefined;
  /** The log level of successful requests. Default: `debug`. */
  readonly answeredLevel?: 'info' | 'debug' | undefined;
}

/** The kinds of the options. */
export const OPTION_KINDS = {
  descriptorSet: BYTES,
  services: TEXTS,
  domain: HEADER_TEXT,
  rules: LIST,
  upstream: objectWith('unary'),
  guard: FUNCTION,
  basePath: TEXT,
  deadlineMs: MILLISECONDS,
  maxBodyBytes: numberFrom(0),
  maxRequests: numberFrom(0),
  streamMs: MILLISECONDS_OR_INFINITY,
  maxStreams: numberFrom(0),
  realm: HEADER_TEXT,
  forwardedHeaders: MAP,
  responseHeaders: MAP,
  standardMethods: FLAG,
  replyCacheBytes: numberFrom(0),
  ignoredParameters: TEXTS,
  json: OBJECT,
  lenient: FLAG,
  events: oneOf('named', 'plain'),
  unsupported: oneOf('refuse', 'skip'),
  requestIdOf: FUNCTION,
  write: FUNCTION,
  now: FUNCTION,
  log: objectWith('debug', 'info', 'warn', 'error'),
  answeredLevel: oneOf('info', 'debug'),
  mayLog: FUNCTION,
  onUnknownType: FUNCTION,
  observers: LIST,
} satisfies Record<keyof TranscoderOptions, Kind>;

const JSON_KINDS = {
  ignoreUnknown: FLAG,
  protoNames: FLAG,
  omit: oneOf('nothing', 'unassigned', 'defaults'),
  milliseconds: FLAG,
} satisfies Record<keyof JsonOptions, Kind>;

// Segments of unreserved characters: nothing that a router reads as a pattern.
const BASE_PATH = /^(?:\/[A-Za-z0-9\-._~]+)*$/;

/** The options whose default is none, or in the contract. */
type WithoutDefault = 'services' | 'domain' | 'guard' | 'realm';

/** Options with their defaults, and what becomes of the headers in both directions. */
export interface OptionsInForce
  extends
    Required<Defined<Omit<TranscoderOptions, WithoutDefault | 'upstream'>>>,
    Pick<TranscoderOptions, WithoutDefault> {
  readonly forwarding: Forwarding;
  readonly replyHeaders: ReplyHeaders;
}

/**
 * The given options with defaults for the others.
 *
 * @param required the options that have no default.
 * @throws Error with a one-sentence message if an option is unknown, missing or of another kind, or the base path or a
 *   header is invalid.
 */
export function optionsInForce(
  options: Omit<TranscoderOptions, 'upstream'>,
  required: readonly string[] = ['descriptorSet'],
): OptionsInForce {
  const defaults = {
    rules: [],
    basePath: '',
    deadlineMs: 5_000,
    maxBodyBytes: 65_536,
    maxRequests: 4_096,
    streamMs: 300_000,
    maxStreams: 256,
    forwardedHeaders: FORWARDED_HEADERS,
    responseHeaders: new Map<string, string>(),
    standardMethods: true,
    replyCacheBytes: 0,
    ignoredParameters: [],
    json: {},
    lenient: false,
    events: 'named' as const,
    unsupported: 'refuse' as const,
    answeredLevel: 'debug' as const,
  };
  const inForce = { ...defaults, ...DEFAULT_HOOKS, ...checkedOptions(options, OPTION_KINDS, required) };
  checkedOptions(inForce.json, JSON_KINDS, [], 'json.');
  const { basePath } = inForce;
  if (!BASE_PATH.test(basePath)) {
    throw new Error(`"${basePath}" is not a base path; "/" and a name are allowed, once or several times.`);
  }
  return {
    ...inForce,
    forwarding: new Forwarding(inForce.forwardedHeaders),
    replyHeaders: new ReplyHeaders(inForce.responseHeaders),
  };
}
