import { constants, type ServerHttp2Stream } from 'node:http2';

/**
 * Creates the listener for the end of a stream's response. If the call is answered before its request is complete, the
 * client normally ends the request when it sees the answer. A client that has not done so after some time is asked to
 * stop: RST_STREAM with NO_ERROR after the whole response (RFC 9113, section 8.1).
 *
 * The reset is not immediate: from the moment nghttp2 is given a reset until it has sent it, it ignores END_STREAM and
 * counts the stream. It then ends the connection of a client that has as many streams open as it may and opens the
 * next.
 *
 * @param patienceMs returns how long to wait for a client, in milliseconds
 */
export function resettingEarlyAnswers(patienceMs: () => number): (this: ServerHttp2Stream) => void {
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
