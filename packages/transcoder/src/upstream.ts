/** The metadata of a call: a value by its lower-case key. */
export type CallMetadata = ReadonlyMap<string, string>;

/** Metadata of a reply: all values of a key; bytes for a key ending in `-bin`. The `Metadata` of grpc-js fits. */
export interface ReplyMetadata {
  get(key: string): readonly (string | Uint8Array)[];
}

/** One gRPC call with one request message, as the transcoder makes it. */
export interface UnaryCall {
  /** The method's path: `/package.Service/Method`. */
  readonly path: string;
  /** The request message in binary form. */
  readonly message: Uint8Array;
  readonly metadata: CallMetadata;
  /** When the client stops waiting, in milliseconds since the epoch. */
  readonly deadline: number;
  /** Whether the client has gone, so that nobody waits for the reply any longer. */
  readonly cancellation: {
    readonly cancelled: boolean;
    /** Calls the listener when the client goes before it is answered; a later listener may replace it. */
    onCancelled(listener: () => void): void;
  };
}

/** The end of a gRPC call. */
export interface UnaryReply {
  /** The gRPC status code; a number that gRPC does not define counts as `UNKNOWN`. */
  readonly code: number;
  /** The status message; empty with `OK`. */
  readonly details: string;
  /**
   * Whether a server answered. Otherwise the upstream itself ended the call: `details` may then name hosts and sockets,
   * so clients get a fixed text instead.
   */
  readonly answered: boolean;
  /** The response message of a unary call in binary form, with `OK` only. */
  readonly message?: Uint8Array | undefined;
  /** What the server sent before its message. */
  readonly initialMetadata?: ReplyMetadata | undefined;
  /** What it sent with its status. */
  readonly trailers?: ReplyMetadata | undefined;
  /** Added to the log line about the request, for example who the caller is. Default: nothing. */
  readonly fields?: Readonly<Record<string, string>> | undefined;
}

/** The replies to one call of a server-streaming method. */
export interface ReplyStream {
  /** Settles with what the server sends before its first message, once that has come; never rejects. */
  readonly headers?: Promise<ReplyMetadata>;
  /**
   * The next message in binary form, or the end of the call, whose reply has no message. Called again only after a
   * message: what nobody asks for should stay with the server. Never rejects.
   */
  next(): Promise<Uint8Array | UnaryReply>;
}

/** The gRPC server that answers: over a channel, or in the same process. */
export interface Upstream {
  /** Never throws or rejects: every failure is a status of the reply, which may be returned synchronously. */
  unary(call: UnaryCall): UnaryReply | Promise<UnaryReply>;
  /**
   * Calls a server-streaming method. The call is over when its end has come or `cancellation` says so; its deadline may
   * be `Infinity`. Never throws. Default: streaming methods are unsupported.
   */
  serverStream?(call: UnaryCall): ReplyStream;
}

/**
 * Decides whether a client may learn what is wrong with a request that cannot become a call, and whether a late body is
 * waited for: any code but `OK` means no, and the client gets this reply. The call has no message, since none has been
 * read.
 */
export type Guard = (call: Omit<UnaryCall, 'message'>) => UnaryReply | Promise<UnaryReply>;
