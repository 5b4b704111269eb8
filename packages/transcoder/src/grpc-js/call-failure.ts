import { type Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { quote } from '../fields/allowed-value.js';
import type { UnaryCall, UnaryReply } from '../upstream.js';

/** The reply to a call that ended without a status from a server. */
export function unansweredReply(code: status, details: string): UnaryReply {
  return { code, details, answered: false };
}

/** The client has left, so nobody waits for the reply. */
export function clientGoneReply(): UnaryReply {
  return unansweredReply(status.CANCELLED, 'The client has gone.');
}

export function deadlineReply(): UnaryReply {
  return unansweredReply(status.DEADLINE_EXCEEDED, 'The deadline has passed.');
}

/** The text of grpc-js for a response with another HTTP status than 200, or without a gRPC status. */
const HTTP_STATUS = /^Received HTTP status code (\d+)$/;
/** The texts of grpc-js for responses that are not gRPC, such as a proxy's error page. They may have any trailers. */
const NO_GRPC = new RegExp(`${HTTP_STATUS.source}|^No status information received$`);
/** The media types of gRPC (gRPC's PROTOCOL-HTTP2.md). */
const GRPC_TYPE = /^application\/grpc(?:$|[+;])/i;

/** Told of a compression that grpc-js refuses without a code and a text. */
export const UNKNOWN_COMPRESSION = 'The reply is compressed in a way that is not supported, or not declared.';

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

/** The texts of grpc-js for a call without a connection, which the function `connectFailure` shortens. */
const NO_CONNECTION = /^(?:round_robin: )?No connection established\. Last error: /;

/** The codes that grpc-js gives to a call that ends with its connection, or whose stream is reset, by the HTTP/2 code. */
const OF_RESETS: ReadonlySet<status> = new Set([
  status.CANCELLED,
  status.INTERNAL,
  status.PERMISSION_DENIED,
  status.RESOURCE_EXHAUSTED,
]);

/**
 * What shows that a response does not come from a gRPC server, but for example from a proxy: its HTTP status and content
 * type. Undefined for a response of gRPC.
 *
 * @param details the text of grpc-js
 * @param headers of the response; undefined if there were none
 */
export function notGrpc(details: string, headers: Metadata | undefined): string | undefined {
  const [, httpStatus] = HTTP_STATUS.exec(details) ?? [];
  const [type] = headers?.get('content-type') ?? [];
  const isGrpc = type === undefined || GRPC_TYPE.test(String(type));
  if (httpStatus === undefined && isGrpc) return undefined;

  const statusFact = httpStatus === undefined ? undefined : `HTTP status ${httpStatus}`;
  const typeFact = type === undefined ? undefined : `content type ${quote(String(type))}`;
  return [statusFact, typeFact].filter((fact) => fact !== undefined).join(', ');
}

/**
 * The reply to a failed call. In grpc-js, every failure has trailers. If they are not empty, the server sent them. If
 * they are empty and headers had arrived, either the server or grpc-js ended the call, and only the text tells which.
 * A server's response that has only trailers still has its content type among them.
 */
export function failedReply(
  {
    code,
    details,
    metadata,
  }: Pick<Partial<ServiceError>, 'code' | 'details'> & Pick<ServiceError, 'metadata'>,
  initialMetadata: Metadata | undefined,
  { deadline }: Pick<UnaryCall, 'deadline'>,
): UnaryReply {
  // https://github.com/grpc/grpc-node/issues/2767
  if (code === undefined || details === undefined)
    return { ...unansweredReply(status.INTERNAL, UNKNOWN_COMPRESSION), clientMessage: UNKNOWN_COMPRESSION };
  const empty = Object.keys(metadata.getMap()).length === 0;
  const headersCame = initialMetadata !== undefined;
  const noStatus = NO_GRPC.test(details);
  const own = noStatus || (empty && (!headersCame || BROKEN_OFF.test(details)));
  if (!own) return { code, details, answered: true, initialMetadata, trailers: metadata };
  if (NO_CONNECTION.test(details))
    return unansweredReply(code, `There is no connection: ${connectFailure(details)}.`);
  const other = notGrpc(details, initialMetadata ?? metadata);
  const text = other === undefined ? details : `The response is not gRPC: ${other}.`;
  // A response that is too large is a fault of the server, and a retry would not help.
  const [, bound] = TOO_LARGE.exec(details) ?? [];
  if (bound !== undefined) {
    // The first bytes of a page are no length.
    if (other !== undefined) return unansweredReply(status.INTERNAL, text);
    return {
      ...unansweredReply(status.INTERNAL, `The reply is larger than maxReplyBytes. ${details}`),
      clientMessage: `The reply is larger than ${bound} bytes, the maximum.`,
    };
  }
  if (noStatus || BAD_MESSAGE.test(details) || !OF_RESETS.has(code)) return unansweredReply(code, text);
  // The connection is lost, or the server reset the call: at the deadline, which it may notice first, or otherwise.
  return unansweredReply(deadline <= Date.now() ? status.DEADLINE_EXCEEDED : status.UNAVAILABLE, text);
}

/** Why there is no connection, in a text of grpc-js: `… Last error: Error: connect ECONNREFUSED … (2026-…Z). Resolution note: …`. */
export function connectFailure(details: string): string {
  return (
    details
      .replace(/^.*Last error: (?:Error: )?/s, '')
      .replace(/\.? Resolution note:.*$/s, '')
      .replace(/ \([-\d]+T[\d:.]+Z\)$/, '')
      // It was another channel that could not connect.
      .replace(/^null$/, 'the address cannot be reached')
      .replace(/^.*:SSL routines:[^:]*:([^:]+):.*$/s, 'TLS failed, $1')
      .replace(/^Failed to connect$/, 'it ended the connection, as a server that expects TLS does')
  );
}
