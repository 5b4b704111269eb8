import { type Metadata, type ServiceError, status } from '@grpc/grpc-js';
import type { UnaryCall, UnaryReply } from '../upstream.js';

/** The reply to a call that ended without a status from a server. */
export function unanswered(code: status, details: string): UnaryReply {
  return { code, details, answered: false };
}

/** The texts of grpc-js for responses that are not gRPC, such as a proxy's error page. They may have any trailers. */
const NO_GRPC = /^(?:Received HTTP status code \d+|No status information received)$/;

/** The texts of grpc-js for a response message that it cannot take. */
const BAD_MESSAGE = /^(?:Received (?:compressed )?message |Failed to decompress )/;

/** The text of grpc-js for a response message, as sent or decompressed, of more bytes than the number at its end. */
const TOO_LARGE =
  /^Received message (?:larger than max \(\d+ vs |that decompresses to a size larger than )(\d+)/;

/** The texts with which grpc-js itself ends a call in progress. They name hosts, or mean nothing to clients. */
const BROKEN_OFF = new RegExp(
  [
    'Received RST_STREAM with code \\d.*',
    'Received (?:compressed )?message .*',
    'Response message parsing error: .*',
    'Failed to decompress .*',
    'Connection dropped',
    'Stream refused by server',
    'Call cancelled',
    'Cancelled on client',
    'Protocol not secure enough',
    'Bandwidth exhausted or memory limit exceeded',
    'No message received',
    'Too many responses received',
    'Write (?:error: |failed with error ).*',
    '.*\\b(?:ECONNRESET|ETIMEDOUT)\\b.*',
  ]
    .map((text) => `^${text}$`)
    .join('|'),
  's',
);

/** The codes that grpc-js gives to a call that ends with its connection, or whose stream is reset, by the HTTP/2 code. */
const OF_RESETS: ReadonlySet<status> = new Set([
  status.CANCELLED,
  status.INTERNAL,
  status.PERMISSION_DENIED,
  status.RESOURCE_EXHAUSTED,
]);

/**
 * The reply to a failed call. In grpc-js, every failure has trailers. If they are not empty, the server sent them. If
 * they are empty and headers had arrived, either the server or grpc-js ended the call, and only the text tells which.
 * A server's response that has only trailers still has its content type among them.
 */
export function failed(
  { code, details, metadata }: ServiceError,
  initialMetadata: Metadata | undefined,
  { deadline }: Pick<UnaryCall, 'deadline'>,
): UnaryReply {
  const empty = Object.keys(metadata.getMap()).length === 0;
  const headersCame = initialMetadata !== undefined;
  const noGrpc = NO_GRPC.test(details);
  const own = noGrpc || (empty && (!headersCame || BROKEN_OFF.test(details)));
  if (!own) return { code, details, answered: true, initialMetadata, trailers: metadata };
  // A response that is too large is a fault of the server, and a retry would not help.
  const [, bound] = TOO_LARGE.exec(details) ?? [];
  if (bound !== undefined) {
    const text = `The reply is larger than maxReplyBytes. ${details}`;
    return {
      ...unanswered(status.INTERNAL, text),
      told: `The reply is larger than ${bound} bytes, the maximum.`,
    };
  }
  if (noGrpc || BAD_MESSAGE.test(details) || !OF_RESETS.has(code)) return unanswered(code, details);
  // The connection is lost, or the server reset the call: at the deadline, which it may notice first, or otherwise.
  return unanswered(deadline <= Date.now() ? status.DEADLINE_EXCEEDED : status.UNAVAILABLE, details);
}
