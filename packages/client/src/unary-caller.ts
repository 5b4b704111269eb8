import { randomUUID } from 'node:crypto';
import {
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { type Client, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { type TokenSource, tokenFrom } from './bearer-token.js';
import { type CallLimits, callLimits, type CallOptions, cancelled, withinLimits } from './call-options.js';
import { withConnectionHint } from './connection-hint.js';
import { messageOf, RouteClientError } from './route-client-error.js';

/** One RPC method, with its conversions. */
interface UnaryMethod<Input extends DescMessage, Output extends DescMessage, Result> {
  readonly method: DescMethodUnary<Input, Output>;
  /** @throws Error when a value cannot be sent */
  readonly request: (requestId: string) => MessageShape<Input>;
  /** @throws Error when the response violates the contract; the call then fails with `INTERNAL` */
  readonly result: (answer: MessageShape<Output>) => Result;
}

/** A call that can be sent as often as needed. */
interface Prepared<Result> {
  readonly path: string;
  readonly message: Buffer;
  readonly read: (answer: Buffer) => Result;
  readonly limits: CallLimits;
}

type Outcome<Result> = { readonly error: ServiceError; readonly lost: boolean } | { readonly value: Result };

/** The codes that grpc-js gives to the calls of a connection that ends, by its HTTP/2 error code. */
const OF_LOST_CONNECTIONS: ReadonlySet<status> = new Set([
  status.CANCELLED,
  status.INTERNAL,
  status.RESOURCE_EXHAUSTED,
]);
/** The texts of grpc-js for what is no loss: a proxy's error page, or a message that it cannot take or send. */
const NO_LOSS =
  /^(?:Received (?:HTTP status code|(?:compressed )?message) |Failed to decompress |Attempted to send )/;
/** What grpc-js itself adds to the trailers of a call that it has retried. */
const PREVIOUS_ATTEMPTS = 'grpc-previous-rpc-attempts';

/** Makes calls over one channel, each with a token, a deadline and the package's one error class. */
export class UnaryCaller {
  readonly #channel: Client;
  readonly #tokens: TokenSource;
  #closed = false;

  constructor(channel: Client, tokens: TokenSource) {
    this.#channel = channel;
    this.#tokens = tokens;
  }

  /** Makes a call, and retries it once with another token if the first token is refused. */
  async call<Input extends DescMessage, Output extends DescMessage, Result>(
    method: UnaryMethod<Input, Output, Result>,
    options: CallOptions,
  ): Promise<Result> {
    const call = prepare(method, options);
    const token = await this.#token(call.limits);
    try {
      return await this.#send(call, token);
    } catch (error) {
      if (!(error instanceof RouteClientError) || error.status !== 'UNAUTHENTICATED') throw error;
      const renewed = await this.#token(call.limits, token);
      if (renewed === token) throw error;
      return await this.#send(call, renewed);
    }
  }

  /** Closes the channel. Calls in progress finish, but are not retried; later calls fail with `UNAVAILABLE`. */
  close(): void {
    this.#closed = true;
    this.#channel.close();
  }

  #token(limits: CallLimits, refused?: string): Promise<string> {
    const token = tokenFrom(this.#tokens, refused).catch((cause: unknown) => {
      const message = `There is no token for the call: ${messageOf(cause)}`;
      throw new RouteClientError({
        code: status.UNAUTHENTICATED,
        message,
        requestId: limits.requestId,
        cause,
      });
    });
    return withinLimits(token, limits);
  }

  async #send<Result>(call: Prepared<Result>, token: string): Promise<Result> {
    const { signal, requestId } = call.limits;
    if (this.#closed) {
      throw new RouteClientError({ code: status.UNAVAILABLE, message: 'The client is closed.', requestId });
    }
    const outcome = await this.#outcome(call, token);
    if ('value' in outcome) return outcome.value;
    const { code, details, metadata } = outcome.error;
    if (code === status.CANCELLED && signal?.aborted === true) throw cancelled(call.limits);
    // Created here, not where the response arrives, so that the stack names the calling code.
    throw new RouteClientError({
      code: outcome.lost ? status.UNAVAILABLE : code,
      message: withConnectionHint(details),
      requestId,
      trailers: metadata,
      cause: outcome.error,
    });
  }

  #outcome<Result>(
    { path, message, read, limits }: Prepared<Result>,
    token: string,
  ): Promise<Outcome<Result>> {
    const { signal, deadline, requestId } = limits;
    const metadata = new Metadata();
    // Sent as plain metadata, since grpc-js refuses call credentials on a channel without TLS.
    metadata.set('authorization', `Bearer ${token}`);
    metadata.set('x-request-id', requestId);
    return new Promise((resolve) => {
      let answered = false;
      const cancel = (): void => {
        call.cancel();
      };
      const call = this.#channel.makeUnaryRequest(
        path,
        (bytes: Buffer) => bytes,
        (bytes: Buffer) => {
          answered = true;
          return read(bytes);
        },
        message,
        metadata,
        { deadline },
        (error, value) => {
          signal?.removeEventListener('abort', cancel);
          // If there is no error, there is a value.
          if (error === null) resolve({ value: value as Result });
          else resolve({ error, lost: !answered && isOfConnection(error) });
        },
      );
      signal?.addEventListener('abort', cancel);
    });
  }
}

/** @throws RouteClientError (`INVALID_ARGUMENT`) when an option or a value cannot be sent */
function prepare<Input extends DescMessage, Output extends DescMessage, Result>(
  { method, request, result }: UnaryMethod<Input, Output, Result>,
  options: CallOptions,
): Prepared<Result> {
  const { requestId = randomUUID() } = options;
  try {
    return {
      path: `/${method.parent.typeName}/${method.name}`,
      message: Buffer.from(toBinary(method.input, request(requestId))),
      read: (answer) => result(fromBinary(method.output, answer)),
      limits: callLimits(options, requestId),
    };
  } catch (cause) {
    throw new RouteClientError({
      code: status.INVALID_ARGUMENT,
      message: messageOf(cause),
      requestId,
      cause,
    });
  }
}

/**
 * Whether a call ended with its connection: the server sends trailers with every status, and a response that has only
 * trailers still has its content type among them.
 */
function isOfConnection({ code, details, metadata }: ServiceError): boolean {
  const sent = Object.keys(metadata.getMap()).filter((key) => key !== PREVIOUS_ATTEMPTS);
  return sent.length === 0 && OF_LOST_CONNECTIONS.has(code) && !NO_LOSS.test(details);
}
