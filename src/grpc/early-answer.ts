import { constants, type ServerHttp2Stream } from 'node:http2';
import type { ServerInterceptingCallInterface } from '@grpc/grpc-js';

/** The status of a call, as grpc-js sends it. */
export type SentStatus = Parameters<ServerInterceptingCallInterface['sendStatus']>[0];

/**
 * Answers to calls whose requests are not complete.
 *
 * A refusal waits for the end of its request, of which the rest is dropped: a client that sees the answer first may give
 * up what it has not sent, without a word to the server (grpc-go does), and open its next stream. nghttp2 still counts
 * the old one, and ends the connection for one stream too many.
 *
 * A client that has not ended its request some time after the answer is asked to stop: RST_STREAM with NO_ERROR after
 * the whole response (RFC 9113, section 8.1). That reset is not immediate: from the moment nghttp2 is given a reset
 * until it has sent it, it ignores END_STREAM and counts the stream.
 */
export class EarlyAnswers {
  readonly #unreadMs: number;
  readonly #deadlineMs: number;
  readonly #bidirectional: ReadonlySet<string>;
  readonly #onAnswer: (stream: ServerHttp2Stream) => void;
  readonly #answered: (this: ServerHttp2Stream) => void;
  /** Sends each refusal that waits. */
  readonly #waiting = new Set<() => void>();
  #arriving: ServerHttp2Stream | undefined;
  #arrivingWaits = false;
  #closed = false;

  /**
   * @param unreadMs how long a refusal waits for the end of its request, and a reset for it after the answer, in
   *   milliseconds
   * @param deadlineMs the time limit of a call, in milliseconds
   * @param bidirectional paths of methods whose clients end their requests only after the answer, served or not
   * @param onAnswer called with each stream when its call is over
   */
  constructor(
    unreadMs: number,
    deadlineMs: number,
    bidirectional: readonly string[],
    onAnswer: (stream: ServerHttp2Stream) => void,
  ) {
    this.#unreadMs = unreadMs;
    this.#deadlineMs = deadlineMs;
    this.#bidirectional = new Set(bidirectional);
    this.#onAnswer = onAnswer;
    // No call follows on a connection that is ending.
    this.#answered = resettingWhenLate(() => (this.#closed ? 0 : unreadMs));
  }

  /** Takes each stream, before grpc-js creates its call. */
  arrive(stream: ServerHttp2Stream, path: string): void {
    stream.on('finish', this.#answered);
    this.#arriving = stream;
    this.#arrivingWaits = !this.#bidirectional.has(path);
  }

  /**
   * The `sendStatus` of the call that grpc-js is creating, which it does in its listener for the stream: a status
   * without a message waits for the end of the request.
   *
   * @param deadline the time of the call's limit, in milliseconds as of `performance.now()`
   */
  sendStatusOf(call: ServerInterceptingCallInterface, deadline: number): (status: SentStatus) => void {
    const stream = this.#arriving;
    const mayWait = this.#arrivingWaits;
    const sendStatus = call.sendStatus.bind(call);
    let waits = false;
    return (status) => {
      // While one waits, grpc-js goes on with messages that it has already read.
      if (waits) return;
      if (stream === undefined || !mayWait || stream.headersSent) {
        sendStatus(status);
        if (stream !== undefined) this.#onAnswer(stream);
        return;
      }
      waits = true;
      const send = (): void => {
        sendStatus(status);
      };
      this.sendAfterRequest(stream, send, deadline - performance.now());
    };
  }

  /** Sends an answer once the request has ended, at the latest when the call's time is over. */
  sendAfterRequest(stream: ServerHttp2Stream, send: () => void, leftMs = this.#deadlineMs): void {
    this.#onAnswer(stream);
    // No end follows on a stream that is gone.
    if (stream.readableEnded || stream.destroyed || this.#closed) {
      send();
      return;
    }
    const sendOnce = (): void => {
      clearTimeout(timer);
      if (this.#waiting.delete(sendOnce)) send();
    };
    const timer = setTimeout(sendOnce, Math.min(this.#unreadMs, leftMs)).unref();
    this.#waiting.add(sendOnce);
    // grpc-js would keep what comes, and stop reading after each message.
    stream.removeAllListeners('data').once('end', sendOnce).once('close', sendOnce).resume();
  }

  /** Waits for no request any more: the service is shutting down. */
  close(): void {
    this.#closed = true;
    for (const send of this.#waiting) send();
  }
}

/** Creates the listener for the end of a stream's response. */
function resettingWhenLate(patienceMs: () => number): (this: ServerHttp2Stream) => void {
  function resetWhenLate(this: ServerHttp2Stream): void {
    const timer = setTimeout(reset, patienceMs(), this).unref();
    this.once('close', () => {
      clearTimeout(timer);
    });
  }

  return function answered(this: ServerHttp2Stream): void {
    if (this.readableEnded || this.closed || !this.headersSent) return;
    // Node itself would at once reset a stream from which nothing was read.
    if (this.readableFlowing === null) this.resume();
    // The status of an answer without a message is in its headers; that of any other is in the trailers, which grpc-js
    // sends in its own listener, before this one.
    if (isComplete(this)) resetWhenLate.call(this);
    else this.once('wantTrailers', resetWhenLate);
  };
}

function isComplete({ sentHeaders, sentTrailers }: ServerHttp2Stream): boolean {
  return (
    sentHeaders[':status'] !== 200 || sentHeaders['grpc-status'] !== undefined || sentTrailers !== undefined
  );
}

function reset(stream: ServerHttp2Stream): void {
  stream.close(constants.NGHTTP2_NO_ERROR);
}
