import { type Metadata, type ServiceError, status } from '@grpc/grpc-js';
import type { UnaryCall, UnaryReply } from '../upstream.js';

/** A call that no server answered. */
export function unanswered(code: status, details: string): UnaryReply {
  return { code, details, answered: false };
}

/** The texts of grpc-js for what is no gRPC, with whatever trailers: those of a proxy's page. */
const NO_GRPC = /^(?:Received HTTP status code \d+|No status information received)$/;

/** The texts with which grpc-js itself ends a call that has begun. They name hosts, or say nothing to clients. */
const BROKEN_OFF = new RegExp(
  [
    'Received .*',
    'Response message parsing error: .*',
    'Failed to decompress .*',
    'Connection dropped',
    'Stream refused by server',
    'Call cancelled',
    'Cancelled on client',
    'Protocol not secure enough',
    'Bandwidth exhausted or memory limit exceeded',
    'Deadline exceeded.*',
    'No message received',
    'Too many responses received',
    'Write .*',
    '.*\\b(?:ECONNRESET|ETIMEDOUT)\\b.*',
  ]
    .map((text) => `^${text}$`)
    .join('|'),
  's',
);

/**
 * A failure always has trailers in grpc-js. If they hold something, the server sent them. They may be empty if it had
 * sent headers before; then grpc-js may have ended the call as well, and its texts are all that shows it.
 */
export function failed(
  { code, details, metadata }: ServiceError,
  initialMetadata: Metadata | undefined,
  { deadline, cancellation }: Pick<UnaryCall, 'deadline' | 'cancellation'>,
): UnaryReply {
  const empty = Object.keys(metadata.getMap()).length === 0;
  const headersCame = initialMetadata !== undefined;
  const own = NO_GRPC.test(details) || (empty && (!headersCame || BROKEN_OFF.test(details)));
  if (!own) return { code, details, answered: true, initialMetadata, trailers: metadata };
  // An answer too large for this side is a fault of the server; trying again would not help.
  if (code === status.RESOURCE_EXHAUSTED && details.startsWith('Received message '))
    return unanswered(status.INTERNAL, `The reply is larger than maxReplyBytes. ${details}`);
  // The server reset the call: at the deadline, which it may notice first, or for a reason of its own.
  if (code === status.CANCELLED && !cancellation.cancelled)
    return unanswered(deadline <= Date.now() ? status.DEADLINE_EXCEEDED : status.UNAVAILABLE, details);
  return unanswered(code, details);
}
