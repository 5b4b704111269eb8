import type { HttpReply } from '../http-reply.js';
import { httpBodyIn } from '../message/http-body.js';
import type { Binding } from '../template/binding.js';
import { TOKEN } from './token.js';

/** How the messages of a stream are encoded in its response. */
export interface StreamFormat {
  readonly contentType: string;
  /** Headers besides those of every stream. */
  readonly headers: Readonly<Record<string, string>>;
  /** Encodes a serialized message. @throws Error if it cannot be encoded */
  readonly message: (message: Uint8Array) => Uint8Array;
  /** Encodes the failure that ends a stream; undefined to cut the connection instead. @param json `{"error":…}` */
  readonly failure: (json: string) => Uint8Array | undefined;
  /** What is sent at the end of a successful stream; undefined for nothing. */
  readonly end: Uint8Array | undefined;
  /** What is sent at intervals while there are no messages, so that no proxy takes the response for dead; undefined for nothing. */
  readonly pulse: Uint8Array | undefined;
}

/** Returns the JSON text of a serialized message, without line breaks. */
type JsonOf = (message: Uint8Array) => string;

// RFC 9110 12.4.2 and 12.5.1: the type with any parameters but the weight 0, which means that it is not acceptable.
const WANTS_EVENTS =
  /(?:^|,)[ \t]*text\/event-stream[ \t]*(?:;(?![ \t]*q=0(?:\.0*)?[ \t]*(?:[,;]|$))[^,;]*)*(?:,|$)/i;

/** How Server-Sent Events are written. */
export type StreamEvents =
  /** The end is an event named `end`, a failure is an event named `failure`. */
  | 'named'
  /** The end is that of the response, a failure an event named `error`, for clients that take any other as a message. */
  | 'plain';

export interface StreamStyle {
  /** Whether to write lines as grpc-gateway does. */
  readonly lenient: boolean;
  readonly events: StreamEvents;
}

/**
 * The format for a request: Server-Sent Events if `accept` names them, otherwise a line for each message.
 *
 * @param accept the header `Accept`.
 */
export function streamFormat(
  accept: string | undefined,
  { lenient, events }: StreamStyle,
  json: JsonOf,
): StreamFormat {
  if (accept !== undefined && WANTS_EVENTS.test(accept)) return eventStream(json, events === 'named');
  return lenient
    ? lines('application/json', (message) => Buffer.from(`{"result":${json(message)}}\n`))
    : lines('application/x-ndjson', (message) => Buffer.from(`${json(message)}\n`));
}

function lines(contentType: string, message: StreamFormat['message']): StreamFormat {
  const failure: StreamFormat['failure'] = (json) => Buffer.from(`${json}\n`);
  return { contentType, headers: {}, message, failure, end: undefined, pulse: undefined };
}

const END = Buffer.from('event: end\ndata: {}\n\n');
const COMMENT = Buffer.from(':\n\n');

/**
 * Server-Sent Events (WHATWG HTML 9.2). A browser repeats its request whenever the response ends, unless the page has closed the
 * `EventSource`, which it can do on the event `end` or `failure`.
 */
function eventStream(json: JsonOf, named: boolean): StreamFormat {
  const failure = named ? 'failure' : 'error';
  return {
    contentType: 'text/event-stream',
    headers: {},
    message: (message) => Buffer.from(`data: ${json(message)}\n\n`),
    failure: (error) => Buffer.from(`event: ${failure}\ndata: ${error}\n\n`),
    end: named ? END : undefined,
    pulse: COMMENT,
  };
}

// RFC 9110 8.3.1; parameters may contain any printable ASCII character.
const MEDIA_TYPE = new RegExp(`^${TOKEN}/${TOKEN}[ \\t]*(?:;[\\t\\x20-\\x7e]*)?$`);

/** The headers of bytes from the service: otherwise browsers would guess another media type. */
const BYTES_HEADERS = { 'X-Content-Type-Options': 'nosniff' };

/** The media type that a service gives, if it is valid. */
function mediaType(contentType: string): string {
  return MEDIA_TYPE.test(contentType) ? contentType : 'application/octet-stream';
}

/** The response for a `google.api.HttpBody`. @throws Error if the message cannot be decoded */
export function bytesReply(binding: Binding, message: Uint8Array): HttpReply {
  const { contentType, data } = httpBodyIn(binding, message);
  return { status: 200, headers: BYTES_HEADERS, contentType: mediaType(contentType), body: data };
}

/** The format of a stream of `google.api.HttpBody`. The first message sets the media type of the whole response. */
export function bytesFormat(binding: Binding): StreamFormat {
  let type: string | undefined;
  return {
    get contentType() {
      return type ?? mediaType('');
    },
    headers: BYTES_HEADERS,
    message: (message) => {
      const { contentType, data } = httpBodyIn(binding, message);
      type ??= mediaType(contentType);
      return data;
    },
    failure: () => undefined,
    end: undefined,
    pulse: undefined,
  };
}
