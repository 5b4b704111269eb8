import { constants, type ServerHttp2Stream } from 'node:http2';

/**
 * Makes the listener for the end of what a stream sends. A client whose call is answered before its request is complete
 * ends the request as soon as it sees that; one that has not after some time is asked to stop: RST_STREAM with NO_ERROR
 * after the whole response (RFC 9113, section 8.1).
 *
 * Not at once: nghttp2 heeds no END_STREAM from the moment in which it is given a reset until it has sent it, counts the
 * stream until then, and ends the connection of a client that has opened as many as it may and now opens the next.
 *
 * @param patienceMs says how long a client is waited for, in milliseconds
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
    // Node itself resets a stream of which nothing was read, at once.
    if (this.readableFlowing === null) this.resume();
    // The status of an answer without a message is in its headers. That of any other follows in the trailers, which
    // grpc-js sends in its own listener, before this one.
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
