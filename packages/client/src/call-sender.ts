import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import type { DescMethod } from '@bufbuild/protobuf';
import { type Client, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { tokenFrom } from './bearer-token.js';
import { CALL_OPTIONS, type CallOptions, checkOptions, CREATE_OPTIONS, isId } from './call-options.js';
import type { RouteClientOptions } from './channel.js';
import { connectFailure, deadlineMessage, type FailedCall, failedCall } from './failed-call.js';
import { type CallIds, messageOf, RouteClientError } from './route-client-error.js';
import { isObject } from './input.js';

/** One call of an RPC method, with its conversions. */
export interface UnaryCall<Result> {
  readonly method: DescMethod;
  /**
   * Whether the call has an idempotency key: never, only if its options have one, or always (by default a random key).
   */
  readonly keyPolicy: 'never' | 'optional' | 'always';
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

type Reply =
  | { readonly ok: true; readonly message: Buffer; readonly trailers: Metadata }
  | ({ readonly ok: false } & FailedCall);

/**
 * The most times that a call is sent again after its connection ended; grpc-js itself does so only for some endings.
 * Each time at once, without a pause: so few calls overload no server.
 */
const MAX_RESENDS = 3;
/** The method of the probe, which asks why there is no connection: it needs no token, and grpc-js does not retry it. */
const PROBE_PATH = '/grpc.health.v1.Health/Check';
/** The longest that the probe may take, in milliseconds. Mostly grpc-js answers at once. */
const PROBE_MS = 100;

/** Sends calls over grpc-js, each with a token, a deadline and the package's one error class. */
export class CallSender {
  readonly #client: Client;
  readonly #options: RouteClientOptions;
  /** The result of the probe in progress, if there is one: all calls that have no connection share it. */
  #probe: Promise<string | undefined> | undefined;
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
      if (!reply.ok && reply.code === status.UNAUTHENTICATED) {
        const renewed = await this.#token(call, token);
        if (renewed !== token) reply = await this.#reply(call, renewed);
      }

      // Thrown here, not where the response arrives, so that the stack names the calling code.
      if (!reply.ok) throw new RouteClientError({ ...reply, ...call.ids });
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
    if (typeof source === 'string') return await token;
    return await waitUnlessAborted(call, waitUntilDeadline(call, token));
  }

  /** Sends a call, and again if it ends with its connection, which is safe: a create has a key. */
  async #reply(call: PreparedCall, token: string): Promise<Reply> {
    for (let resends = 0; ; resends += 1) {
      throwIfAborted(call);
      const reply = await this.#attempt(call, token);
      if (reply.ok) return reply;

      throwIfAborted(call);
      if (reply.unconnected) {
        const reason = await waitUnlessAborted(call, this.#whyUnconnected());
        if (reason === undefined) return reply;
        return { ...reply, message: deadlineMessage(call.timeoutMs, `a connection: ${reason}`) };
      }
      if (!reply.lost || resends === MAX_RESENDS) return reply;
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
        if (answer !== undefined) resolve({ ok: true, message: answer, trailers });
        else resolve({ ok: false, ...failedCall(error as unknown as ServiceError, headers, timeoutMs) });
      });
    });
  }

  /**
   * Why there is no connection; undefined if grpc-js does not know. It tells only a call that does not wait for a
   * connection, so such a call is made, the probe.
   */
  #whyUnconnected(): Promise<string | undefined> {
    this.#probe ??= new Promise((resolve) => {
      const deadline = Date.now() + PROBE_MS;
      this.#client.makeUnaryRequest(PROBE_PATH, same, same, Buffer.alloc(0), { deadline }, (error) => {
        this.#probe = undefined;
        resolve(connectFailure(String(error?.details)));
      });
    });
    return this.#probe;
  }
}

/** @throws RouteClientError (`INVALID_ARGUMENT`) when an option or a value cannot be sent */
function prepareCall<Result>(unary: UnaryCall<Result>, options: CallOptions | undefined): PreparedCall {
  const { method, keyPolicy, request } = unary;
  const ids = idsOf(keyPolicy, options);
  try {
    const allowed = keyPolicy === 'never' ? CALL_OPTIONS : CREATE_OPTIONS;
    const { timeoutMs, signal } = checkOptions(allowed, options);
    if (signal !== undefined) letCallsShare(signal);

    const path = `/${method.parent.typeName}/${method.name}`;
    const message = Buffer.from(request(ids.idempotencyKey));
    return { path, message, ids, timeoutMs, deadline: Date.now() + timeoutMs, signal };
  } catch (cause) {
    throw failure(ids, status.INVALID_ARGUMENT, messageOf(cause), cause);
  }
}

/** The ids of a call, before its options are checked: even the error about wrong options carries the ids that are valid. */
function idsOf(keyPolicy: UnaryCall<unknown>['keyPolicy'], options: unknown): CallIds {
  const { requestId, idempotencyKey } = isObject(options) ? options : {};
  const defaultKey = keyPolicy === 'always' ? randomUUID() : undefined;
  return {
    requestId: isId(requestId) ? requestId : randomUUID(),
    idempotencyKey: isId(idempotencyKey) ? idempotencyKey : defaultKey,
  };
}

/** Keeps Node from warning of a leak when more than ten calls have the same signal. */
function letCallsShare(signal: AbortSignal): void {
  try {
    setMaxListeners(0, signal);
  } catch {
    // It is not of Node, as in jsdom, so Node does not watch it either.
  }
}

/** Waits for a token until the deadline of the call. */
function waitUntilDeadline(call: PreparedCall, token: Promise<string>): Promise<string> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      const message = deadlineMessage(call.timeoutMs, 'a token');
      reject(failure(call.ids, status.DEADLINE_EXCEEDED, message));
    }, call.deadline - Date.now());
    void token.then(resolve, reject).finally(() => {
      clearTimeout(timer);
    });
  });
}

/** Waits for a value until the call is aborted. */
function waitUnlessAborted<Value>(call: PreparedCall, value: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      reject(cancellation(call));
    };
    call.signal?.addEventListener('abort', abort, { once: true });
    void value.then(resolve, reject).finally(() => call.signal?.removeEventListener('abort', abort));
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
