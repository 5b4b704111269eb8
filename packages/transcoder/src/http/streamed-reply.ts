import { isUint8Array } from 'node:util/types';
import type { ErrorReplies } from '../failures/error-reply.js';
import { codeOf, HttpFailure } from '../failures/failure.js';
import { Code } from '../gen/google/rpc/code_pb.js';
import type { ErrorReply, HttpReply } from '../http-reply.js';
import type { ReplyMetadata, ReplyStream, UnaryReply } from '../upstream.js';
import { type Exchange, isOk } from './exchange.js';
import type { OpenStream } from './open-streams.js';
import type { StreamFormat } from './stream-formats.js';
import { isOutcome, type StreamItem, StreamItems } from './stream-items.js';

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
 * The HTTP response for a stream of messages: when it begins, what it writes while there are messages and while there are
 * none, and how it ends.
 */
export class StreamedReply {
  readonly #replyStream: ReplyStream;
  readonly #parts: StreamedReplyParts;
  readonly #items: StreamItems;
  #initialMetadata: ReplyMetadata | undefined;
  /** The error with which the response ended after its head was sent. */
  #lateError: ErrorReply | undefined;

  constructor(replyStream: ReplyStream, parts: StreamedReplyParts) {
    this.#replyStream = replyStream;
    this.#parts = parts;
    this.#items = new StreamItems(replyStream, parts.openStream, parts.format);
  }

  /**
   * Returns the response, which begins with the first message or, if the call is still running, a second after the
   * server's headers: many servers send headers before they refuse a call.
   */
  async reply(): Promise<HttpReply> {
    const { format, onHeaders } = this.#parts;
    const coming = this.#items.next();
    this.#onServerHeaders();
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

  /** Keeps the server's headers when they come and, a second after them, ends the wait that is under way now. */
  #onServerHeaders(): void {
    // The timer may fire during a later wait.
    const endThisWait = this.#items.endOfThisWait;
    void this.#replyStream.headers?.then((headers) => {
      this.#initialMetadata = headers;
      setTimeout(endThisWait, REFUSAL_MS).unref();
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
      // Without an item, it is time for a pulse, or the response has closed. That needs no case of its own: the writer of a
      // closed response stops this generator at its next piece.
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
    const coming = this.#items.next();
    if (this.#parts.format.pulse === undefined) return coming;

    const timer = setTimeout(this.#items.endWait, PULSE_MS);
    try {
      return await coming;
    } finally {
      clearTimeout(timer);
    }
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

function isSuccess(item: StreamItem): boolean {
  return isOutcome(item) && isOk(item);
}
