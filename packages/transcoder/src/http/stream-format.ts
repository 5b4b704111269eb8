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
  /** What is sent at intervals while there are no messages; undefined for nothing. */
  readonly pulse: Uint8Array | undefined;
}

/** Returns the JSON text of a serialized message, without line breaks; as UTF-8 if it is large. */
type JsonOf = (message: Uint8Array) => string | Uint8Array;

// RFC 9110 12.4.2 and 12.5.1: a weight of 0 means that the type is not acceptable.
const WANTS_EVENTS =
  /(?:^|,)[ \t]*text\/event-stream[ \t]*(?:;(?![ \t]*q=0(?:\.0*)?[ \t]*(?:[,;]|$))[^,;]*)*(?:,|$)/i;

/**
 * The format for a request: Server-Sent Events if `accept` names them, otherwise a line for each message.
 *
 * @param accept the header `Accept`.
 * @param lenient whether to write lines as grpc-gateway does.
 */
export function streamFormat(accept: string | undefined, lenient: boolean, json: JsonOf): StreamFormat {
  if (accept !== undefined && WANTS_EVENTS.test(accept)) return events(json);
  return lenient
    ? lines('application/json', (message) => joined('{"result":', json(message), '}\n'))
    : lines('application/x-ndjson', (message) => joined('', json(message), '\n'));
}

function lines(contentType: string, message: StreamFormat['message']): StreamFormat {
  const failure: StreamFormat['failure'] = (json) => Buffer.from(`${json}\n`);
  return { contentType, headers: {}, message, failure, end: undefined, pulse: undefined };
}

const END = Buffer.from('event: end\ndata: {}\n\n');
const COMMENT = Buffer.from(':\n\n');

/**
 * WHATWG HTML 9.2. A browser repeats its request whenever the response ends, unless the page has closed the
 * `EventSource`, which it can do on the event `end` or `failure`.
 */
function events(json: JsonOf): StreamFormat {
  return {
    contentType: 'text/event-stream',
    headers: {},
    message: (message) => joined('data: ', json(message), '\n\n'),
    failure: (error) => Buffer.from(`event: failure\ndata: ${error}\n\n`),
    end: END,
    pulse: COMMENT,
  };
}

function joined(before: string, json: string | Uint8Array, after: string): Uint8Array {
  return typeof json === 'string'
    ? Buffer.from(before + json + after)
    : Buffer.concat([Buffer.from(before), json, Buffer.from(after)]);
}
