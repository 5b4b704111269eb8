import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import type { DescMethod } from '@bufbuild/protobuf';
import { type Client, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { tokenFrom } from './bearer-token.js';
import { type CallOptions, checkOptions, isId } from './call-options.js';
import type { RouteClientOptions } from './channel.js';
import { connectFailure, deadlineExceeded, type FailedCall, failedCall } from './failed-call.js';
import { type CallIds, messageOf, RouteClientError } from './route-client-error.js';
import { isObject } from './input.js';

/** One call of an RPC method, with its conversions. */
export interface UnaryCall<Result> {
  readonly method: DescMethod;
  /** Which call has an idempotency key: none, that whose caller gives one, or each, at random by default. */
  readonly idempotencyKey: 'none' | 'optional' | 'required';
  /** @throws Error when a value cannot be sent */
  readonly request: (idempotencyKey: string | undefined) => Uint8Array;
  /** @throws Error when the response violates the contract; the call then fails with `INTERNAL` */
  readonly result: (reply: Uint8Array, trailers: Metadata) => Result;
}

/** A call that can be sent as often as needed. */
interface PreparedCall {
  /** `/package.Service/Method`. */
  readonly path: string;
  readonly message: Buffer;
  readonly ids: CallIds;
  readonly timeoutMs: number;
  /** In milliseconds since the epoch. */
  readonly deadline: number;
  readonly signal: AbortSignal | undefined;
}

type Reply = FailedCall | { readonly message: Buffer; readonly trailers: Metadata };

/** How often a call is sent again that ended with its connection. grpc-js does so only for some endings. */
const MAX_RESENT = 3;
/** The longest time to ask grpc-js why there is no connection, in milliseconds. Mostly it knows at once. */
const ASKING_MS = 100;
/** Needs no token, and is not retried. */
const ASKING_PATH = '/grpc.health.v1.Health/Check';

/** Sends calls over grpc-js, each with a token, a deadline and the package's one error class. */
export class CallSender {
  readonly #client: Client;
  readonly #options: RouteClientOptions;
  /** Why there is no connection, while grpc-js is asked for it. */
  #reason: Promise<string | undefined> | undefined;
  /** How many calls are in progress. */
  #underWay = 0;
  #closed = false;

  constructor(client: Client, options: RouteClientOptions) {
    this.#client = client;
    this.#options = options;
  }

  /**
   * Sends a call, and repeats it once with another token if the first token is refused.
   *
   * @throws RouteClientError whenever the call fails
   */
  async send<Result>(unary: UnaryCall<Result>, options: CallOptions | undefined): Promise<Result> {
    const call = prepareCall(unary, options);
    if (this.#closed) throw failure(call.ids, status.UNAVAILABLE, 'The client is closed.');

    this.#underWay += 1;
    try {
      const token = await this.#token(call);
      let reply = await this.#reply(call, token);
      if ('code' in reply && reply.code === status.UNAUTHENTICATED) {
        const renewed = await this.#token(call, token);
        if (renewed !== token) reply = await this.#reply(call, renewed);
      }

      // Thrown here, not where the response arrives, so that the stack names the calling code.
      if ('code' in reply) throw new RouteClientError({ ...reply, ...call.ids });
      try {
        return unary.result(reply.message, reply.trailers);
      } catch (cause) {
        throw failure(call.ids, status.INTERNAL, `The reply cannot be read: ${messageOf(cause)}`, cause);
      }
    } finally {
      this.#underWay -= 1;
      this.#closeIfDone();
    }
  }

  /** Closes the connections after the calls in progress. Later calls fail with `UNAVAILABLE`. */
  close(): void {
    this.#closed = true;
    this.#closeIfDone();
  }

  #closeIfDone(): void {
    if (this.#closed && this.#underWay === 0) this.#client.close();
  }

  async #token(call: PreparedCall, refused?: string): Promise<string> {
    throwIfAborted(call);
    const { token: source } = this.#options;
    const token = tokenFrom(source, refused).catch((cause: unknown) => {
      const message = `There is no token for the call: ${messageOf(cause)}`;
      throw failure(call.ids, status.UNAUTHENTICATED, message, cause);
    });
    return await (typeof source === 'string' ? token : waitWithinLimits(call, token));
  }

  /** Sends a call, and again if it ends with its connection, which is safe: a create has a key. */
  async #reply(call: PreparedCall, token: string): Promise<Reply> {
    for (let resent = 0; ; resent += 1) {
      throwIfAborted(call);
      const reply = await this.#attempt(call, token);
      if ('trailers' in reply) return reply;

      throwIfAborted(call);
      const reason = reply.unconnected ? await this.#whyUnconnected() : undefined;
      if (reason !== undefined)
        return { ...reply, message: deadlineExceeded(call.timeoutMs, `a connection: ${reason}`) };
      if (!reply.lost || resent === MAX_RESENT) return reply;
    }
  }

  #attempt({ path, message, ids, timeoutMs, deadline, signal }: PreparedCall, token: string): Promise<Reply> {
    const metadata = new Metadata({ waitForReady: this.#options.waitForReady ?? true });
    // The token is plain metadata, since grpc-js refuses call credentials on a channel without TLS.
    metadata.set('authorization', `Bearer ${token}`);
    metadata.set('x-request-id', ids.requestId);

    return new Promise((resolve) => {
      let error: ServiceError | null = null;
      let answer: Buffer | undefined;
      let headers: Metadata | undefined;
      const done = (cause: ServiceError | null, value?: Buffer): void => {
        error = cause;
        answer = value;
      };
      const call = this.#client.makeUnaryRequest(path, same, same, message, metadata, { deadline }, done);

      const abort = call.cancel.bind(call);
      signal?.addEventListener('abort', abort);
      call.on('metadata', (received: Metadata) => (headers = received));
      // The status comes after the message or the error, and carries the trailers.
      call.on('status', ({ metadata: trailers }) => {
        signal?.removeEventListener('abort', abort);
        if (answer !== undefined) resolve({ message: answer, trailers });
        else resolve(failedCall(error as unknown as ServiceError, headers, timeoutMs));
      });
    });
  }

  /** Why there is no connection, which grpc-js tells only to a call that does not wait for one. */
  #whyUnconnected(): Promise<string | undefined> {
    this.#reason ??= new Promise((resolve) => {
      const deadline = Date.now() + ASKING_MS;
      this.#client.makeUnaryRequest(ASKING_PATH, same, same, Buffer.alloc(0), { deadline }, (error) => {
        this.#reason = undefined;
        resolve(connectFailure(String(error?.details)));
      });
    });
    return this.#reason;
  }
}

/** @throws RouteClientError (`INVALID_ARGUMENT`) when an option or a value cannot be sent */
function prepareCall<Result>(unary: UnaryCall<Result>, options: CallOptions | undefined): PreparedCall {
  const { method, idempotencyKey, request } = unary;
  const newKey = idempotencyKey === 'required' ? randomUUID() : undefined;
  // The error of options that are wrong has those ids that are right.
  const unchecked: Readonly<Record<string, unknown>> = isObject(options) ? options : {};
  const ids = {
    requestId: isId(unchecked['requestId']) ? unchecked['requestId'] : randomUUID(),
    idempotencyKey: isId(unchecked['idempotencyKey']) ? unchecked['idempotencyKey'] : newKey,
  };

  try {
    const { timeoutMs, signal } = checkOptions(options, idempotencyKey === 'none');
    if (signal !== undefined) letCallsShare(signal);

    const path = `/${method.parent.typeName}/${method.name}`;
    const message = Buffer.from(request(ids.idempotencyKey));
    return { path, message, ids, timeoutMs, deadline: Date.now() + timeoutMs, signal };
  } catch (cause) {
    throw failure(ids, status.INVALID_ARGUMENT, messageOf(cause), cause);
  }
}

/** Keeps Node from warning of a leak when more than ten calls have the same signal. */
function letCallsShare(signal: AbortSignal): void {
  try {
    setMaxListeners(0, signal);
  } catch {
    // It is not of Node, as in jsdom, so Node does not watch it either.
  }
}

/** Waits for a token no longer than the call may last. */
function waitWithinLimits(call: PreparedCall, token: Promise<string>): Promise<string> {
  const { timeoutMs, deadline, signal } = call;
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      reject(cancellation(call));
    };
    const timer = setTimeout(() => {
      reject(failure(call.ids, status.DEADLINE_EXCEEDED, deadlineExceeded(timeoutMs, 'a token')));
    }, deadline - Date.now());
    signal?.addEventListener('abort', abort);
    void token.then(resolve, reject).finally(() => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    });
  });
}

function throwIfAborted(call: PreparedCall): void {
  if (call.signal?.aborted === true) throw cancellation(call);
}

function cancellation(call: PreparedCall): RouteClientError {
  return failure(call.ids, status.CANCELLED, 'The signal has cancelled the call.', call.signal?.reason);
}

function failure(ids: CallIds, code: status, message: string, cause?: unknown): RouteClientError {
  return new RouteClientError({ code, message, ...ids, cause });
}

function same(bytes: Buffer): Buffer {
  return bytes;
}
