import type { ErrorReplies } from '../failures/error-reply.js';
import { codeOf, Failure, internal } from '../failures/failure.js';
import { Code } from '../gen/google/rpc/code_pb.js';
import type { ErrorReply, HttpReply } from '../http-reply.js';
import type { ReplyMetadata, ReplyStream, UnaryReply } from '../upstream.js';
import type { Exchange } from './exchange.js';
import { isOk } from './guard-verdict.js';
import type { OpenStream } from './open-streams.js';
import type { StreamFormat } from './stream-format.js';

/** How long after its headers a server may still refuse the call with a status, in milliseconds. */
const REFUSAL_MS = 1_000;
/** The interval between pulses while there are no messages, in milliseconds. */
const PULSE_MS = 15_000;

const HEADERS = {
  'Cache-Control': 'no-store, no-transform',
  Vary: 'Accept',
  // Otherwise nginx would buffer the response.
  'X-Accel-Buffering': 'no',
};

/** The parts of a streamed reply. */
interface StreamedReplyParts {
  readonly exchange: Exchange;
  readonly open: OpenStream;
  readonly format: StreamFormat;
  readonly errors: ErrorReplies;
  /** Called before the response begins, with the server's headers, or with its status if it refuses the call. */
  readonly heard: (reply: UnaryReply) => void;
}

/** The next item of a stream: the content for a message, or the end. */
type Come = Uint8Array | UnaryReply | Failure;

/** The HTTP response for a stream of messages. */
export class StreamedReply {
  readonly #stream: ReplyStream;
  readonly #parts: StreamedReplyParts;
  #initialMetadata: ReplyMetadata | undefined;
  /** Whether an item was requested and has not been returned yet. */
  #asked = false;
  #come: Come | undefined;
  /** Wakes a waiting `#next`. */
  #wake = (): void => undefined;
  #failure: ErrorReply | undefined;

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
    const { format, heard } = this.#parts;
    const coming = this.#next();
    const begin = this.#wake;
    void this.#stream.headers?.then((headers) => {
      this.#initialMetadata = headers;
      setTimeout(begin, REFUSAL_MS).unref();
    });
    const first = await coming;
    if (isEnd(first) && !isOk(first)) {
      heard(first);
      return this.#errorReply(first);
    }
    if (first instanceof Failure) return this.#errorReply(first);
    heard({ code: Code.OK, details: '', answered: true, initialMetadata: this.#initialMetadata });
    return {
      status: 200,
      headers: { ...HEADERS, ...format.headers },
      contentType: format.contentType,
      body: this.#pieces(first),
      brokenOff: () => this.#brokenOff(),
    };
  }

  async *#pieces(first: Come | undefined): AsyncGenerator<Uint8Array, void> {
    const { exchange, format } = this.#parts;
    let next = first;
    while (next === undefined || next instanceof Uint8Array) {
      const piece = next ?? format.pulse;
      if (piece !== undefined) yield piece;
      next = await this.#nextOrPulse();
    }
    if (isEnd(next)) exchange.fields = next.fields;
    if (isEnd(next) && isOk(next)) {
      if (format.end !== undefined) yield format.end;
      return;
    }
    this.#failure = this.#errorReply(next);
    const last = format.failure(this.#failure.body);
    if (last === undefined) exchange.response.destroy();
    else yield last;
  }

  async #nextOrPulse(): Promise<Come | undefined> {
    const coming = this.#next();
    if (this.#parts.format.pulse === undefined) return coming;
    const timer = setTimeout(this.#wake, PULSE_MS);
    try {
      return await coming;
    } finally {
      clearTimeout(timer);
    }
  }

  /** The next item, or the failure that aborted the stream; undefined if a timer ended the wait first. */
  async #next(): Promise<Come | undefined> {
    const { open } = this.#parts;
    if (!this.#asked) void this.#ask();
    if (open.failure === undefined && this.#come === undefined) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const come = open.failure ?? this.#come;
    if (come !== undefined) this.#asked = false;
    this.#come = undefined;
    return come;
  }

  async #ask(): Promise<void> {
    this.#asked = true;
    try {
      const come = await this.#stream.next();
      this.#come = come instanceof Uint8Array ? this.#parts.format.message(come) : come;
    } catch (error) {
      this.#come = internal(error);
    }
    this.#wake();
  }

  /**
   * The error response for the end of a stream. It always has a reason, so that the log line differs from that of a
   * success.
   */
  #errorReply(end: UnaryReply | Failure): ErrorReply {
    const { errors, exchange } = this.#parts;
    const { requestId } = exchange;
    if (end instanceof Failure) return errors.ofFailure(end, requestId);
    const reply = errors.ofUpstream(end, requestId);
    return { ...reply, reason: reply.reason ?? Code[codeOf(end.code)] };
  }

  #brokenOff(): ErrorReply | undefined {
    const { open, exchange } = this.#parts;
    if (this.#failure !== undefined || open.failure === undefined || exchange.response.writableFinished)
      return this.#failure;
    return this.#errorReply(open.failure);
  }
}

function isEnd(come: Come | undefined): come is UnaryReply {
  return come !== undefined && 'answered' in come;
}
