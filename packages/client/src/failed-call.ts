import { type Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { detailsIn, type ErrorDetail } from './error-details.js';

/** What the error of grpc-js says, in sentences. */
export interface FailedCall {
  readonly code: status;
  readonly message: string;
  readonly details: readonly ErrorDetail[];
  readonly cause: ServiceError;
  /** Whether the call ended with its connection, and not after all attempts of grpc-js, which retries only some. */
  readonly lost: boolean;
  /** Whether the deadline passed before the call had a connection. */
  readonly unconnected: boolean;
}

/** The texts of grpc-js for calls that are reset or whose connection ends; the codes go by the HTTP/2 error code. */
const LOST =
  /^(?:Received RST_STREAM with code \d|Bandwidth exhausted |Call cancelled$|Connection dropped$)|\bECONNRESET\b|\bETIMEDOUT\b/;
/** The codes that grpc-js retries by the service config, unless the response has begun. */
export const RETRIED: readonly status[] = [status.UNAVAILABLE, status.RESOURCE_EXHAUSTED];
export const MAX_ATTEMPTS = 4;
/** What grpc-js itself adds to the trailers, even of calls that no server has answered. */
const OF_RETRIES = 'grpc-previous-rpc-attempts';

/**
 * @param headers of the response; undefined if there were none
 * @param timeoutMs the time limit of the call
 */
export function failedCall(
  cause: ServiceError,
  headers: Metadata | undefined,
  timeoutMs: number,
): FailedCall {
  const { code, details: text, metadata } = cause as Partial<ServiceError> & Pick<ServiceError, 'metadata'>;
  const failure = { details: detailsIn(metadata), cause, lost: false, unconnected: false };
  // https://github.com/grpc/grpc-node/issues/2767
  if (code === undefined || text === undefined) {
    const message = 'The reply is compressed in a way that is not supported, or not declared.';
    return { ...failure, code: status.INTERNAL, message };
  }
  const signs = signsOfOtherServer(text, headers ?? metadata);
  if (signs !== undefined) {
    const message = `The server does not answer as a gRPC server: ${signs}.`;
    // The first bytes of a page are no length of a message.
    return { ...failure, code: code === status.RESOURCE_EXHAUSTED ? status.INTERNAL : code, message };
  }
  // A server sends trailers with every status; a response that has only trailers has its content type among them.
  if (Object.keys(metadata.getMap()).some((key) => key !== OF_RETRIES))
    return { ...failure, code, message: text };
  const reason = connectFailure(text);
  if (reason !== undefined) return { ...failure, code, message: `There is no connection: ${reason}.` };
  if (LOST.test(text)) {
    const message = `The call or its connection ended before the reply: ${text}.`;
    const retried = RETRIED.includes(code) && Number(metadata.get(OF_RETRIES)[0]) === MAX_ATTEMPTS - 1;
    const lost = headers !== undefined || !retried;
    return { ...failure, code: status.UNAVAILABLE, message, lost };
  }
  if (code === status.DEADLINE_EXCEEDED) {
    const unconnected = !text.includes('remote_addr=');
    const message = deadlineMessage(timeoutMs, unconnected ? 'a connection' : 'the reply');
    return { ...failure, code, message, unconnected };
  }
  return { ...failure, code, message: text };
}

/** The message of a call whose deadline has passed. */
export function deadlineMessage(timeoutMs: number, waitingFor: string): string {
  return `Deadline exceeded after ${timeoutMs} ms, waiting for ${waitingFor}.`;
}

/** What shows that the response comes from a web server or proxy. Undefined for a response of gRPC. */
function signsOfOtherServer(text: string, headers: Metadata): string | undefined {
  const [, httpStatus] = /^Received HTTP status code (\d+)$/.exec(text) ?? [];
  const [type] = headers.get('content-type');
  if (httpStatus === undefined && (type === undefined || /^application\/grpc(?:$|[+;])/i.test(String(type))))
    return undefined;
  const signs: string[] = [];
  if (httpStatus !== undefined) signs.push(`HTTP status ${httpStatus}`);
  if (type !== undefined) signs.push(`content type "${String(type)}"`);
  return signs.join(', ');
}

/** What OpenSSL and grpc-js say of a connection on which only one side uses TLS or HTTP/2, and what that means. */
const HINTS: readonly (readonly [text: RegExp, hint: string])[] = [
  [
    /^.*:SSL routines:[^:]*:wrong version number:.*$/s,
    'TLS failed, wrong version number. The client speaks TLS and the server does not: where the network itself is safe, set the option tls to false',
  ],
  [
    /^Failed to connect$/,
    'the server ended it without an answer, as one with TLS does to a client without: see the option tls',
  ],
  [/^Protocol error$/, 'the server does not speak HTTP/2, as gRPC needs it'],
];

/** Why there is no connection, by a text of grpc-js: `… Last error: Error: connect … (2026-…Z). Resolution note: …`. */
export function connectFailure(text: string): string | undefined {
  if (!/No connection established|^Name resolution failed/.test(text)) return undefined;
  const reason = text
    .replace(/^.*Last error: (?:Error: )?/s, '')
    .replace(/\.? Resolution note:.*$/s, '')
    .replace(/ \([-\d]+T[\d:.]+Z\)$/, '');
  const hint = HINTS.find(([known]) => known.test(reason))?.[1];
  return hint ?? reason.replace(/^.*:SSL routines:[^:]*:([^:]+):.*$/s, 'TLS failed, $1');
}
