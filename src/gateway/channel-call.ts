import {
  constants,
  type ClientHttp2Stream,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { status } from '@grpc/grpc-js';
import type { Channel } from './channel.js';
import type { Connection, Passenger } from './connection.js';
import { framed, MAX_MESSAGE_BYTES, onlyMessage, PREFIX_BYTES } from './grpc-framing.js';
import { failedReply, httpStatusReply, resetReply, statusReply } from './grpc-status.js';
import type { UnaryCall, UnaryReply } from './upstream.js';

/** The longest `grpc-timeout` in milliseconds: a TimeoutValue has 8 digits. That is more than a day. */
const TIMEOUT_MAX_MS = 99_999_999;

const USER_AGENT = `grpc-node-http2/${process.versions.node}`;

/** One unary call on its way over a channel (gRPC over HTTP/2). */
export class ChannelCall implements Passenger {
  readonly #call: UnaryCall;
  readonly #channel: Channel;
  readonly #resolve: (reply: UnaryReply) => void;
  readonly #timer: NodeJS.Timeout;
  #connection: Connection | undefined;
  #stream: CallStream | undefined;
  #ended = false;
  #httpStatus: number | undefined;
  #body: Buffer[] = [];
  #bodyBytes = 0;

  /** @param resolve takes the reply, once. */
  constructor(call: UnaryCall, channel: Channel, resolve: (reply: UnaryReply) => void) {
    this.#call = call;
    this.#channel = channel;
    this.#resolve = resolve;
    this.#timer = setTimeout(expire, timeoutMs(call), this);
    call.cancellation.onCancelled(() => {
      this.abandon(status.CANCELLED, 'The caller cancelled the call.');
    });
    channel.carry(this);
  }

  /** Sends the request. */
  board(connection: Connection): void {
    this.#connection = connection;
    let stream: CallStream;
    try {
      stream = connection.request(requestHeaders(this.#call, connection.authority));
    } catch (error) {
      this.#end(failedReply(status.INTERNAL, String(error)));
      return;
    }
    stream.call = this;
    this.#stream = stream;
    stream.on('response', onResponse);
    stream.on('data', onData);
    stream.on('trailers', onTrailers);
    stream.on('end', onEnd);
    stream.on('error', onError);
    stream.on('close', onClose);
    stream.end(framed(this.#call.message));
  }

  /** There is no connection. */
  leave(reason: string): void {
    this.#end(failedReply(status.UNAVAILABLE, reason));
  }

  /** Ends the call before the server does, and tells the server. */
  abandon(code: status, details: string): void {
    if (this.#ended) return;
    this.#end(failedReply(code, details));
    if (this.#stream === undefined) this.#channel.forget(this);
    else this.#stream.close(constants.NGHTTP2_CANCEL);
  }

  /** The first headers, which are also the last where there is nothing but a status. */
  onResponse(headers: IncomingHttpHeaders & IncomingHttpStatusHeader, flags: number): void {
    this.#httpStatus = headers[':status'];
    if ((flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0) this.onTrailers(headers);
  }

  onData(chunk: Buffer): void {
    this.#body.push(chunk);
    this.#bodyBytes += chunk.length;
    if (this.#bodyBytes <= PREFIX_BYTES + MAX_MESSAGE_BYTES) return;
    this.#body = [];
    if (this.#httpStatus === 200) {
      this.abandon(status.RESOURCE_EXHAUSTED, `The response is larger than ${MAX_MESSAGE_BYTES} bytes.`);
    } else {
      const { code, details } = httpStatusReply(this.#httpStatus);
      this.abandon(code, details);
    }
  }

  onTrailers(trailers: IncomingHttpHeaders): void {
    const reply = statusReply(trailers, this.#httpStatus);
    this.#end(reply.code === status.OK ? this.#withMessage(reply) : reply);
    this.#leaveUnread();
  }

  /** The end of what the server says. It is also told of a stream that is reset or lost; then the close decides. */
  onEnd(): void {
    if (this.#ended || this.#stream?.destroyed !== false) return;
    this.#end(httpStatusReply(this.#httpStatus));
    this.#leaveUnread();
  }

  onClose(http2Code: number): void {
    this.#stream = undefined;
    this.#connection?.release();
    if (this.#ended) return;
    if (this.#connection?.broken === true) this.leave('The connection was lost.');
    else this.#end(resetReply(http2Code));
  }

  /** The server has said all; what it did not want to read is not sent. */
  #leaveUnread(): void {
    if (this.#stream?.writableFinished === false) this.#stream.close(constants.NGHTTP2_CANCEL);
  }

  #withMessage({ trailers }: UnaryReply): UnaryReply {
    const [first] = this.#body;
    const body = first !== undefined && this.#body.length === 1 ? first : Buffer.concat(this.#body);
    const message = onlyMessage(body);
    if (message instanceof Uint8Array) return { code: status.OK, details: '', message, trailers };
    return { ...message, trailers };
  }

  #end(reply: UnaryReply): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#timer);
    this.#resolve(reply);
  }
}

/** A stream that knows its call, so that its listeners need not be made for each. */
interface CallStream extends ClientHttp2Stream {
  call?: ChannelCall | undefined;
}

function onResponse(
  this: CallStream,
  headers: IncomingHttpHeaders & IncomingHttpStatusHeader,
  flags: number,
): void {
  this.call?.onResponse(headers, flags);
}

function onData(this: CallStream, chunk: Buffer): void {
  this.call?.onData(chunk);
}

function onTrailers(this: CallStream, trailers: IncomingHttpHeaders): void {
  this.call?.onTrailers(trailers);
}

function onEnd(this: CallStream): void {
  this.call?.onEnd();
}

/** Every error is followed by the close, which tells all that is needed of it. */
function onError(): void {
  // Nothing more to do.
}

/** Lets go of the call: V8's quick collections keep what a closed stream leads to. */
function onClose(this: CallStream): void {
  this.call?.onClose(this.rstCode);
  this.call = undefined;
}

function expire(call: ChannelCall): void {
  call.abandon(status.DEADLINE_EXCEEDED, 'The deadline passed.');
}

function timeoutMs({ deadline }: UnaryCall): number {
  return Math.min(Math.ceil(deadline - Date.now()), TIMEOUT_MAX_MS);
}

function requestHeaders(call: UnaryCall, authority: string): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = call.metadata.toHttp2Headers();
  headers[':method'] = 'POST';
  headers[':scheme'] = 'http';
  headers[':authority'] = authority;
  headers[':path'] = call.path;
  headers.te = 'trailers';
  headers['content-type'] = 'application/grpc';
  headers['user-agent'] = USER_AGENT;
  headers['grpc-timeout'] = `${Math.max(timeoutMs(call), 1)}m`;
  return headers;
}
