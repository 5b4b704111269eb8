import { constants, type ServerHttp2Stream } from 'node:http2';

/**
 * Asks the client to stop sending when its call is answered before the request is complete: RST_STREAM with NO_ERROR
 * after the whole response (RFC 9113, section 8.1). Until then grpc-js and Node keep what has come.
 */
export function resetWhenAnswered(stream: ServerHttp2Stream): void {
  stream.on('finish', answered);
}

function answered(this: ServerHttp2Stream): void {
  if (this.readableEnded || this.closed || !this.headersSent) return;
  // The status of an answer without a message is in its headers. That of any other follows in the trailers, which
  // grpc-js sends in its own listener, before this one.
  if (isComplete(this)) resetSoon.call(this);
  else this.once('wantTrailers', resetSoon);
}

function isComplete({ sentHeaders, sentTrailers }: ServerHttp2Stream): boolean {
  return sentHeaders['grpc-status'] !== undefined || sentTrailers !== undefined;
}

function resetSoon(this: ServerHttp2Stream): void {
  setImmediate(reset, this);
}

function reset(stream: ServerHttp2Stream): void {
  stream.close(constants.NGHTTP2_NO_ERROR);
}
