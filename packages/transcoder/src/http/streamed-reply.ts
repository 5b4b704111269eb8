import { isUint8Array } from 'node:util/types';
import type { ErrorReplies } from '../failures/error-reply.js';
import { codeOf, HttpFailure, internal } from '../failures/failure.js';
import { Code } from '../gen/google/rpc/code_pb.js';
import type { ErrorReply, HttpReply } from '../http-reply.js';
import type { ReplyMetadata, ReplyStream, UnaryReply } from '../upstream.js';
import { type Exchange, isOk } from './exchange.js';
import type { OpenStream } from './open-streams.js';
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
  readonly openStream: OpenStream;
  readonly format: StreamFormat;
  readonly errors: ErrorReplies;
  /**
   * Called before the response begins, with the server's headers, or with its status if it refuses the call; not called
   * if the stream is aborted or fails before that.
   */
  readonly onHeaders: (reply: UnaryReply) => void;
}

/**
 * What comes next in a stream: the content for a message; the outcome of the gRPC call; or why the transcoder has aborted
 * the stream, or cannot go on with it.
 */
type StreamItem = Uint8Array | UnaryReply | HttpFailure;

/**
 * The HTTP response for a stream of messages.
 *
 * At most one item is requested at a time. A wait for it also ends early, without the item, when it is time for a pulse or
 * for the head of the response; the next wait is then for the same item.
 */
export class StreamedReply {
  readonly #replyStream: ReplyStream;
  readonly #parts: StreamedReplyParts;
  #initialMetadata: ReplyMetadata | undefined;
  /** Whether an item was requested and has not been returned yet. */
  #isRequested = false;
  /** The item that has come and has not been returned yet. */
  #item: StreamItem | undefined;
  /** Ends the latest wait of `#next`; does nothing if that has ended. */
  #endWait = ignore;
  /** The error with which the response ended after its head was sent. */
  #lateError: ErrorReply | undefined;

  constructor(replyStream: ReplyStream, parts: StreamedReplyParts) {
    this.#replyStream = replyStream;
    this.#parts = parts;
    parts.openStream.onAbortedOrClosed(() => {
      this.#endWait();
    });
  }

  /**
   * Returns the response, which begins with the first message or, if the call is still running, a second after the
   * server's headers: many servers send headers before they refuse a call.
   */
  async reply(): Promise<HttpReply> {
    const { format, onHeaders } = this.#parts;
    const coming = this.#next();
    this.#endWaitAfterHeaders();
    const first = await coming;

    const isRefusal = isOutcome(first) && !isOk(first);
    if (isRefusal) {
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
      brokenOff: () => this.#errorAfterHead(),
    };
  }

  /** Keeps the server's headers when they come, and ends the wait of `#next` that has just begun a second later. */
  #endWaitAfterHeaders(): void {
    // This wait alone: the timer may fire during a later one.
    const endWait = this.#endWait;
    void this.#replyStream.headers?.then((headers) => {
      this.#initialMetadata = headers;
      setTimeout(endWait, REFUSAL_MS).unref();
    }, ignore);
  }

  /**
   * Yields the content of the response: the messages, with pulses while there are none, and the end or the failure.
   *
   * @param first what the wait for the first item returned; undefined for no item yet: a pulse is then written at once
   */
  async *#pieces(first: StreamItem | undefined): AsyncGenerator<Uint8Array, void> {
    const { exchange, format } = this.#parts;
    let next = first;
    while (next === undefined || isUint8Array(next)) {
      const piece = next ?? format.pulse;
      if (piece !== undefined) yield piece;
      next = await this.#nextOrPulse();
    }

    if (isSuccess(next)) {
      if (format.end !== undefined) yield format.end;
      return;
    }

    this.#lateError = this.#errorReply(next);
    const last = format.failure(this.#lateError.body);
    // Where the format has nothing for a failure, only a cut connection tells it from the end.
    if (last === undefined) exchange.response.destroy();
    else yield last;
  }

  /** The next item, or undefined when it is time for a pulse. */
  async #nextOrPulse(): Promise<StreamItem | undefined> {
    const coming = this.#next();
    if (this.#parts.format.pulse === undefined) return coming;
    const timer = setTimeout(() => {
      this.#endWait();
    }, PULSE_MS);
    try {
      return await coming;
    } finally {
      clearTimeout(timer);
    }
  }

  /** The next item, or the failure that aborted the stream; undefined if the wait ended early. */
  async #next(): Promise<StreamItem | undefined> {
    const { openStream } = this.#parts;
    if (!this.#isRequested) void this.#requestItem();
    // `Promise.race` with the item would need memory for each pulse until the item comes.
    if (openStream.abortFailure === undefined && this.#item === undefined) {
      await new Promise<void>((resolve) => {
        this.#endWait = resolve;
      });
    }
    if (openStream.abortFailure !== undefined) return openStream.abortFailure;

    const item = this.#item;
    if (item !== undefined) this.#isRequested = false;
    this.#item = undefined;
    return item;
  }

  /** Requests an item, and keeps it for `#next` when it has come. Never rejects. */
  async #requestItem(): Promise<void> {
    this.#isRequested = true;
    try {
      const item = await this.#replyStream.next();
      if (isUint8Array(item)) this.#item = this.#parts.format.message(item);
      else if (isOutcome(item)) this.#item = item;
      else throw new TypeError('The stream returned neither a message nor an outcome.');
    } catch (error) {
      this.#item = internal(error);
    }
    this.#endWait();
  }

  /**
   * The error response for the end of a stream. It always has a reason, so that the log line differs from that of a
   * success.
   */
  #errorReply(outcome: UnaryReply | HttpFailure): ErrorReply {
    const { errors, exchange } = this.#parts;
    const { requestId } = exchange;
    if (outcome instanceof HttpFailure) return errors.ofFailure(outcome, requestId);
    const reply = errors.ofUpstream(outcome, requestId);
    return { ...reply, reason: reply.reason ?? Code[codeOf(outcome.code)] };
  }

  /** The error that ended the response, also an error that came too late to be written; undefined for a success. */
  #errorAfterHead(): ErrorReply | undefined {
    if (this.#lateError !== undefined) return this.#lateError;

    const { openStream, exchange } = this.#parts;
    const { abortFailure } = openStream;
    const isCutShort = abortFailure !== undefined && !exchange.response.writableFinished;
    return isCutShort ? this.#errorReply(abortFailure) : undefined;
  }
}

function isOutcome(item: StreamItem | undefined): item is UnaryReply {
  return typeof item === 'object' && 'answered' in item;
}

function isSuccess(item: StreamItem): boolean {
  return isOutcome(item) && isOk(item);
}
