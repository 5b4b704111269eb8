import { type ServiceError, status } from '@grpc/grpc-js';
import { withConnectionHint } from './connection-hint.js';
import { detailsIn, type ErrorDetail } from './error-details.js';

/** What the error of grpc-js says. */
interface FailedCall {
  readonly code: number;
  readonly message: string;
  readonly details: readonly ErrorDetail[];
  readonly cause: ServiceError;
  /** Whether another attempt may succeed. */
  readonly transient: boolean;
  /** What the server says of another attempt (gRFC A6). */
  readonly pushback: string | undefined;
}

/** The codes that grpc-js gives to the calls of a connection that ends, by its HTTP/2 error code. */
const OF_LOST_CONNECTIONS: ReadonlySet<number> = new Set([
  status.CANCELLED,
  status.INTERNAL,
  status.RESOURCE_EXHAUSTED,
]);
/** The texts of grpc-js for a message that it cannot take or send. */
const BAD_MESSAGE = /^(?:Received (?:compressed )?message |Failed to decompress |Attempted to send )/;
/** The text of grpc-js for a proxy's error page. */
const BAD_STATUS = 'Received HTTP status code ';

export function failedCall(cause: ServiceError): FailedCall {
  const { code, details: text, metadata } = cause as Partial<ServiceError> & Pick<ServiceError, 'metadata'>;
  // https://github.com/grpc/grpc-node/issues/2767
  if (code === undefined || text === undefined) {
    const message = 'The reply is compressed in a way that is not supported, or not declared.';
    return { code: status.INTERNAL, message, details: [], cause, transient: false, pushback: undefined };
  }
  const actual = isOfConnection(cause) ? status.UNAVAILABLE : code;
  const [pushback] = metadata.get('grpc-retry-pushback-ms');
  return {
    code: actual,
    message: withConnectionHint(text),
    details: detailsIn(metadata),
    cause,
    transient:
      actual === status.UNAVAILABLE || (actual === status.RESOURCE_EXHAUSTED && !BAD_MESSAGE.test(text)),
    pushback: pushback?.toString(),
  };
}

/**
 * Whether a call ended with its connection: the server sends trailers with every status, and a response that has only
 * trailers still has its content type among them.
 */
function isOfConnection({ code, details, metadata }: ServiceError): boolean {
  const empty = Object.keys(metadata.getMap()).length === 0;
  return (
    empty && OF_LOST_CONNECTIONS.has(code) && !BAD_MESSAGE.test(details) && !details.startsWith(BAD_STATUS)
  );
}
