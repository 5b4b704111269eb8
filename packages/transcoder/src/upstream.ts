/** The metadata of a call: one value for each lower-case key. */
export type CallMetadata = ReadonlyMap<string, string>;

/** The keys that concern one connection: with them, Node sends no request over HTTP/2 (RFC 9113 8.2.2). */
export const CONNECTION_KEYS: ReadonlySet<string> = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
]);

/** The metadata of a reply. The `Metadata` of grpc-js has this shape. */
export interface ReplyMetadata {
  /** Returns all values of a key, as bytes if the key ends in `-bin`. */
  get(key: string): readonly (string | Uint8Array)[];
  /** Returns an object with all keys. Needed only for prefixes in `responseHeaders`. Default: no keys. */
  getMap?(): Readonly<Record<string, unknown>>;
}

/** A gRPC call with one request message. */
export interface UnaryCall {
  /** The method's path: `/package.Service/Method`. */
  readonly path: string;
  /** The serialized request message. */
  readonly message: Uint8Array;
  readonly metadata: CallMetadata;
  /** When the call must end, in milliseconds by the clock `now`; `Infinity` for a stream without a time limit. */
  readonly deadline: number;
  readonly cancellation: Cancellation;
}

/** What tells the callers of calls apart: `authorization`; undefined for a call without. */
export function credentialOf({ metadata }: Pick<UnaryCall, 'metadata'>): string | undefined {
  return metadata.get('authorization');
}

/** Whether the client has disconnected or, for a stream, its response has ended: nobody needs the reply any more. */
export interface Cancellation {
  readonly cancelled: boolean;
  /** Sets a listener that is called on cancellation. A later listener may replace it. */
  onCancelled(listener: () => void): void;
}

/** The outcome of a gRPC call. */
export interface UnaryReply {
  /** The gRPC status code; a number that gRPC does not define counts as `UNKNOWN`. */
  readonly code: number;
  /** The status message; empty with `OK`. */
  readonly details: string;
  /**
   * Whether the status comes from the server. Otherwise the upstream itself ended the call: `details` may then name
   * hosts and sockets, so clients get `clientMessage` or a fixed text instead.
   */
  readonly answered: boolean;
  /** What clients are told of an `INTERNAL` failure that is not `answered`. It must not name hosts. Default: a fixed text. */
  readonly clientMessage?: string | undefined;
  /** The serialized response message of a unary call; only with `OK`. */
  readonly message?: Uint8Array | undefined;
  /** The metadata that the server sent before its message. */
  readonly initialMetadata?: ReplyMetadata | undefined;
  /** The metadata that the server sent with its status. */
  readonly trailers?: ReplyMetadata | undefined;
  /**
   * Whether the server has identified the caller, which decides whose limit on log lines the request counts for. Default:
   * whether the status is one that servers return only to callers that they know.
   */
  readonly callerKnown?: boolean | undefined;
  /** Fields added to the log line about the request, such as who called, unless a stream has begun. Default: none. */
  readonly fields?: Readonly<Record<string, string>> | undefined;
}

/** The messages of a server-streaming call, and its outcome. */
export interface ReplyStream {
  /** Resolves with the metadata that the server sends before its first message, once it has arrived. Never rejects. */
  readonly headers?: Promise<ReplyMetadata>;
  /**
   * Returns the next serialized message or, at the end of the call, its outcome, which has no message. Never rejects.
   * Called again only after a message, so that implementations can pass on backpressure: do not read far ahead of it.
   */
  next(): Promise<Uint8Array | UnaryReply>;
}

/** The gRPC server to call: over a channel, or in the same process. */
export interface Upstream {
  /**
   * Makes a unary call. Never throws or rejects: every failure is a status in the reply. May return the reply
   * synchronously.
   */
  unary(call: UnaryCall): UnaryReply | Promise<UnaryReply>;
  /**
   * Calls a server-streaming method. The call lasts until its outcome or its cancellation; its deadline may be
   * `Infinity`. Never throws. Default: streaming methods are not supported.
   */
  serverStream?(call: UnaryCall): ReplyStream;
}

/**
 * Decides whether a client may learn why its request cannot become a call, and whether to wait for a body that arrives
 * late. Any code but `OK` means no, and the client gets this reply. The call has no message, since none has been read.
 */
export type Guard = (call: Omit<UnaryCall, 'message'>) => UnaryReply | Promise<UnaryReply>;
