import { isUint8Array } from 'node:util/types';
import type { ErrorReplies } from '../failures/error-reply.js';
import {
  codeOf,
  deadlineExceeded,
  HttpFailure,
  internal,
  overloaded,
  shuttingDown,
} from '../failures/failure.js';
import { Code } from '../gen/google/rpc/code_pb.js';
import type { ErrorReply, HttpReply } from '../http-reply.js';
import type { Cancellation, ReplyMetadata, ReplyStream, UnaryReply } from '../upstream.js';
import { LONGEST_TIMER_MS } from '../timeouts.js';
import { type Exchange, isOk } from './exchange.js';
import type { StreamFormat } from './stream-formats.js';

/** How long the response waits after the server's headers for a status that refuses the call, in milliseconds. */
const REFUSAL_MS = 1_000;
/** The interval between pulses while there are no messages, in milliseconds. */
const PULSE_MS = 15_000;

const ignore = (): void => undefined;

const STREAM_HEADERS = {
  'Cache-Control': 'no-store, no-transform',
  Vary: 'Accept',
  // Otherwise nginx would buffer the response.
  'X-Accel-Buffering': 'no',
};

interface StreamedReplyParts {
  readonly exchange: Exchange;
  readonly open: OpenStream;
  readonly format: StreamFormat;
  readonly errors: ErrorReplies;
  /** Called before the response begins, with the server's headers, or with its status if it refuses the call. */
  readonly onHeaders: (reply: UnaryReply) => void;
}

/** The next item of a stream: the content for a message, or the end. */
type StreamItem = Uint8Array | UnaryReply | HttpFailure;

/**
 * The HTTP response for a stream of messages.
 *
 * At most one item is requested at a time. A wait for it also ends early, without the item, when it is time for a pulse or
 * for the head of the response; the next wait is then for the same item.
 */
export class StreamedReply {
  readonly #stream: ReplyStream;
  readonly #parts: StreamedReplyParts;
  #initialMetadata: ReplyMetadata | undefined;
  /** Whether an item was requested and has not been returned yet. */
  #isAsked = false;
  /** The item that has come and has not been returned yet. */
  #item: StreamItem | undefined;
  /** Ends the wait of `#next`, if it waits. */
  #wake = ignore;
  /** The error with which the response ended after its head was sent. */
  #lateError: ErrorReply | undefined;

  constructor(stream: ReplyStream, parts: StreamedReplyParts) {
    this.#stream = stream;
    this.#parts = parts;
    parts.open.whenEnding(() => {
      this.#wake();
    });
  }

  /**
   * Returns the response, which begins with the first message or, if the call is still running, a second after the
   * server's headers: many servers send headers before they refuse a call.
   */
  async reply(): Promise<HttpReply> {
    const { format, onHeaders } = this.#parts;
    const coming = this.#next();
    // Kept, since `#wake` is another function by the time of a later wait.
    const begin = this.#wake;
    void this.#stream.headers?.then((headers) => {
      this.#initialMetadata = headers;
      setTimeout(begin, REFUSAL_MS).unref();
    }, ignore);
    const first = await coming;

    if (isEnd(first) && !isOk(first)) {
      onHeaders(first);
      return this.#errorReply(first);
    }
    if (first instanceof HttpFailure) return this.#errorReply(first);

    onHeaders({ code: Code.OK, details: '', answered: true, initialMetadata: this.#initialMetadata });
    return {
      status: 200,
      headers: { ...STREAM_HEADERS, ...format.headers },
      contentType: format.contentType,
      body: this.#pieces(first),
      brokenOff: () => this.#endingError(),
    };
  }

  /** @param first what the wait for the first item gave; undefined for no item yet. */
  async *#pieces(first: StreamItem | undefined): AsyncGenerator<Uint8Array, void> {
    const { exchange, format } = this.#parts;
    let next = first;
    while (next === undefined || isUint8Array(next)) {
      const piece = next ?? format.pulse;
      if (piece !== undefined) yield piece;
      next = await this.#nextOrPulse();
    }

    if (isEnd(next) && isOk(next)) {
      if (format.end !== undefined) yield format.end;
      return;
    }

    this.#lateError = this.#errorReply(next);
    const last = format.failure(this.#lateError.body);
    if (last === undefined) exchange.response.destroy();
    else yield last;
  }

  /** The next item, or undefined when it is time for a pulse. */
  async #nextOrPulse(): Promise<StreamItem | undefined> {
    const coming = this.#next();
    if (this.#parts.format.pulse === undefined) return coming;
    const timer = setTimeout(this.#wake, PULSE_MS);
    try {
      return await coming;
    } finally {
      clearTimeout(timer);
    }
  }

  /** The next item, or the failure that aborted the stream; undefined if the wait ended early. */
  async #next(): Promise<StreamItem | undefined> {
    const { open } = this.#parts;
    if (!this.#isAsked) void this.#ask();
    // `Promise.race` with the item would need memory for each pulse until the item comes.
    if (open.failure === undefined && this.#item === undefined) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const item = open.failure ?? this.#item;
    if (item !== undefined) this.#isAsked = false;
    this.#item = undefined;
    return item;
  }

  /** Requests an item, and keeps it for `#next` when it has come. Never rejects. */
  async #ask(): Promise<void> {
    this.#isAsked = true;
    try {
      const item = await this.#stream.next();
      if (isUint8Array(item)) this.#item = this.#parts.format.message(item);
      else if (isEnd(item)) this.#item = item;
      else throw new TypeError('The stream returned neither a message nor an outcome.');
    } catch (error) {
      this.#item = internal(error);
    }
    this.#wake();
  }

  /**
   * The error response for the end of a stream. It always has a reason, so that the log line differs from that of a
   * success.
   */
  #errorReply(end: UnaryReply | HttpFailure): ErrorReply {
    const { errors, exchange } = this.#parts;
    const { requestId } = exchange;
    if (end instanceof HttpFailure) return errors.ofFailure(end, requestId);
    const reply = errors.ofUpstream(end, requestId);
    return { ...reply, reason: reply.reason ?? Code[codeOf(end.code)] };
  }

  /** The error that ended the response, also an error that came too late to be written; undefined for a success. */
  #endingError(): ErrorReply | undefined {
    const { open, exchange } = this.#parts;
    if (this.#lateError !== undefined || open.failure === undefined || exchange.response.writableFinished)
      return this.#lateError;
    return this.#errorReply(open.failure);
  }
}

function isEnd(item: StreamItem | undefined): item is UnaryReply {
  return typeof item === 'object' && 'answered' in item;
}

/** How long a client may take to read the end of an aborted stream, in milliseconds. */
const LAST_PIECE_MS = 1_000;

/** A request for a stream, until its response has ended. A call that is still running then is cancelled. */
export class OpenStream implements Cancellation {
  /** Whether the response has ended. */
  cancelled = false;
  /** Why the stream was aborted; undefined if it was not. */
  failure: HttpFailure | undefined;
  readonly #exchange: Exchange;
  readonly #open: Set<OpenStream>;
  /** The listener of `onCancelled`. */
  #cancel = ignore;
  /** The listener of `whenEnding`. */
  #wake = ignore;
  /** Aborts the stream at its time limit. */
  #limit: NodeJS.Timeout | undefined;
  /** Disconnects a client that does not read the end of the aborted stream. */
  #cut: NodeJS.Timeout | undefined;

  /** @param open the open streams; this stream leaves them when its response has ended. */
  constructor(exchange: Exchange, open: Set<OpenStream>) {
    this.#exchange = exchange;
    this.#open = open;
    open.add(this);
    exchange.onClose(this.#onClosed);
  }

  onCancelled(listener: () => void): void {
    this.#cancel = listener;
  }

  /** Calls the listener when the stream is aborted or the response has ended. */
  whenEnding(listener: () => void): void {
    this.#wake = listener;
  }

  /**
   * Aborts the stream with `DEADLINE_EXCEEDED` after some time.
   *
   * @param ms in milliseconds; never if it is more than the longest delay of a timer, such as `Infinity`
   */
  limit(ms: number): void {
    // The client may have disconnected before the call.
    if (this.cancelled || ms > LONGEST_TIMER_MS) return;
    this.#limit = setTimeout(() => {
      this.breakOff(deadlineExceeded());
    }, ms);
  }

  /** Aborts the stream. A client that does not read its end within a second is disconnected. */
  breakOff(failure: HttpFailure): void {
    this.failure ??= failure;
    // The response may be queued behind an earlier response, and have no socket yet.
    this.#cut ??= setTimeout(() => this.#exchange.request.socket.destroy(), LAST_PIECE_MS);
    this.#wake();
  }

  readonly #onClosed = (): void => {
    this.cancelled = true;
    clearTimeout(this.#limit);
    clearTimeout(this.#cut);
    this.#open.delete(this);
    this.#exchange.notify(this.#cancel);
    this.#wake();
  };
}

/** The open streams. */
export class OpenStreams {
  readonly #most: number;
  readonly #open = new Set<OpenStream>();
  #ended = false;

  /** @param most the maximum number of open streams. */
  constructor(most: number) {
    this.#most = most;
  }

  /** @throws HttpFailure `OVERLOADED` or `SHUTTING_DOWN` */
  open(exchange: Exchange): OpenStream {
    if (this.#ended) throw shuttingDown();
    if (this.#open.size >= this.#most) throw overloaded(`It has ${this.#most} streams under way.`);
    return new OpenStream(exchange, this.#open);
  }

  /** Aborts all streams, and refuses all later ones. */
  end(): void {
    this.#ended = true;
    for (const stream of this.#open) stream.breakOff(shuttingDown());
  }
}
