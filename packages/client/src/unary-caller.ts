import type { DescMessage } from '@bufbuild/protobuf';
import { type Client, status } from '@grpc/grpc-js';
import { type TokenSource, tokenFrom } from './bearer-token.js';
import type { CallLimits } from './call-limits.js';
import { type CallOptions, MAX_TIMEOUT_MS } from './call-options.js';
import { Connection } from './connection.js';
import { failedCall } from './failed-call.js';
import {
  type Caller,
  closedError,
  type Kind,
  type Prepared,
  prepare,
  type UnaryMethod,
} from './prepared-call.js';
import { pauseAfter, type RetryThrottle } from './retries.js';
import { messageOf, RouteClientError } from './route-client-error.js';

/**
 * Makes calls, each with a token, a deadline, attempts and the package's one error class. Reads and writes have
 * separate connections from the first time that they overlap, so that slow writes delay no reads.
 */
export class UnaryCaller implements Caller {
  readonly #open: () => Connection;
  readonly #tokens: TokenSource;
  readonly #throttle: RetryThrottle;
  readonly #connections: Record<Kind, Connection>;
  readonly #inProgress: Record<Kind, number> = { reads: 0, writes: 0 };
  #closed = false;

  constructor(open: () => Client, tokens: TokenSource, throttle: RetryThrottle) {
    this.#open = () => new Connection(open());
    this.#tokens = tokens;
    this.#throttle = throttle;
    const first = this.#open();
    this.#connections = { reads: first, writes: first };
  }

  /** Makes a call, and repeats it once with another token if the first token is refused. */
  async call<Input extends DescMessage, Output extends DescMessage, Result>(
    method: UnaryMethod<Input, Output, Result>,
    options: CallOptions | undefined,
  ): Promise<Result> {
    const call = prepare(method, options);
    const { kind, limits } = call;
    try {
      const connection = this.#connectionFor(call);
      this.#inProgress[kind] += 1;
      try {
        return await this.#withToken(call, connection);
      } finally {
        this.#inProgress[kind] -= 1;
        this.#closeIfDone();
      }
    } finally {
      limits.release();
    }
  }

  /** Closes the connections after the calls in progress. Later calls fail with `UNAVAILABLE`. */
  close(): void {
    this.#closed = true;
    this.#closeIfDone();
  }

  #closeIfDone(): void {
    const { reads, writes } = this.#connections;
    if (!this.#closed || this.#inProgress.reads + this.#inProgress.writes > 0) return;
    reads.close();
    writes.close();
  }

  #connectionFor<Result>({ kind, limits }: Prepared<Result>): Connection {
    if (this.#closed) throw closedError(limits.ids);
    const { reads, writes } = this.#connections;
    if (reads === writes && this.#inProgress[kind === 'reads' ? 'writes' : 'reads'] > 0)
      this.#connections[kind] = this.#open();
    return this.#connections[kind];
  }

  async #withToken<Result>(call: Prepared<Result>, connection: Connection): Promise<Result> {
    const token = await this.#token(call.limits);
    try {
      return await this.#attempts(call, connection, token);
    } catch (error) {
      if (!(error instanceof RouteClientError) || error.status !== 'UNAUTHENTICATED') throw error;
      const renewed = await this.#token(call.limits, token);
      if (renewed === token) throw error;
      return await this.#attempts(call, connection, renewed);
    }
  }

  #token(limits: CallLimits, refused?: string): Promise<string> {
    limits.waitingFor = 'a token';
    const token = tokenFrom(this.#tokens, refused).catch((cause: unknown) => {
      const message = `There is no token for the call: ${messageOf(cause)}`;
      throw new RouteClientError({ code: status.UNAUTHENTICATED, message, ...limits.ids, cause });
    });
    return limits.waitFor(token);
  }

  async #attempts<Result>(call: Prepared<Result>, connection: Connection, token: string): Promise<Result> {
    const { limits, read, path, message } = call;
    // The token is plain metadata, since grpc-js refuses call credentials on a channel without TLS.
    const metadata = { authorization: `Bearer ${token}`, 'x-request-id': limits.ids.requestId };
    for (let attempts = 1; ; attempts++) {
      const reply = await connection.unary({ path, message, metadata }, limits);
      if ('message' in reply) {
        this.#throttle.succeeded();
        return read(reply.message, reply.trailers);
      }
      const { transient, pushback, ...failure } = failedCall(reply.error);
      const mayRepeat = transient && this.#throttle.failed();
      const pause = mayRepeat ? pauseAfter(attempts, pushback) : undefined;
      // Created here, not where the response arrives, so that the stack names the calling code.
      if (pause === undefined) throw new RouteClientError({ ...failure, ...limits.ids });
      limits.waitingFor = `the next attempt (${status[failure.code]}: ${failure.message})`;
      await sleep(pause, limits);
    }
  }
}

function sleep(ms: number, limits: CallLimits): Promise<void> {
  return limits.wait((done) => {
    const timer = setTimeout(done, Math.min(ms, MAX_TIMEOUT_MS));
    return () => {
      clearTimeout(timer);
    };
  });
}
