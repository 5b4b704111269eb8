import type { ErrorReplies } from '../failures/error-reply.js';
import { codeOf } from '../failures/failure.js';
import { Code } from '../gen/google/rpc/code_pb.js';
import type { HttpReply } from '../http-reply.js';
import type { Guard, UnaryReply } from '../upstream.js';
import type { Exchange } from './exchange.js';

/** The guard's verdict on a request. The guard is called only when needed, and at most once. */
export class GuardVerdict {
  readonly #exchange: Exchange;
  readonly #call: Parameters<Guard>[0];
  readonly #guard: Guard | undefined;
  readonly #errors: ErrorReplies;
  #refusal: Promise<HttpReply | undefined> | undefined;

  /** @param guard if undefined, every client is admitted. */
  constructor(
    exchange: Exchange,
    call: Parameters<Guard>[0],
    guard: Guard | undefined,
    errors: ErrorReplies,
  ) {
    this.#exchange = exchange;
    this.#call = call;
    this.#guard = guard;
    this.#errors = errors;
  }

  /** The reply for a client that the guard refuses; undefined for any other. */
  refusal(): Promise<HttpReply | undefined> {
    return (this.#refusal ??= this.#ask());
  }

  /**
   * Returns the guard's response for a client that the guard refuses, which thus learns nothing about the failure.
   *
   * @throws the failure, for any other client.
   */
  async refuse(failure: unknown): Promise<HttpReply> {
    const refusal = await this.refusal();
    if (refusal === undefined) throw failure;
    return refusal;
  }

  async #ask(): Promise<HttpReply | undefined> {
    const verdict = await this.#guard?.(this.#call);
    if (verdict === undefined) return undefined;
    this.#exchange.known = knowsCaller(verdict);
    this.#exchange.fields = verdict.fields;
    return isOk(verdict) ? undefined : this.#errors.ofUpstream(verdict, this.#exchange.requestId);
  }
}

/** Whether a call succeeded. */
export function isOk({ code }: UnaryReply): boolean {
  return codeOf(code) === Code.OK;
}

/** Whether a reply shows that the server has identified the caller. */
export function knowsCaller(reply: UnaryReply): boolean {
  return isOk(reply) || (reply.answered && codeOf(reply.code) !== Code.UNAUTHENTICATED);
}
