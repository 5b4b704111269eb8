import { status } from '@grpc/grpc-js';
import {
  type Contract,
  codeOf,
  ErrorReplies,
  type ErrorReply,
  type FailureReason,
  upstreamFailure,
} from '@route-registry/transcoder/description';
import { failureReply } from '../calls/failure-reply.js';
import { toCallFailure } from '../calls/failures.js';
import { gatewayExamples, serverExamples } from './failure-examples.js';

/** The limit on trailers, in bytes: enough for every example. */
const MAX_TRAILER_BYTES = 16_384;

/** The request id in all examples. */
export const REQUEST_ID = '8d3f6a1e-27c4-4b90-9e5d-f1a0b2c3d4e5';

/** A failure and the gateway's response to it. */
export interface FailureReply {
  readonly reason: string;
  readonly reply: ErrorReply;
}

/** The responses to failures, produced by the code of the gateway and the server. */
export class FailureReplies {
  readonly #errors: ErrorReplies;

  /** @param realm the realm in challenges */
  constructor({ registry, domain }: Contract, realm: string) {
    this.#errors = new ErrorReplies({ registry, domain, realm });
  }

  /** A failure that the gateway itself finds. */
  ofGateway(reason: FailureReason): FailureReply {
    return { reason, reply: this.#errors.ofFailure(gatewayExamples[reason](), REQUEST_ID) };
  }

  /** All failures of the upstream. */
  ofChannel(): FailureReply[] {
    const codes = Object.values(status).filter((code): code is status => typeof code === 'number');
    return codes.map((code) => ({
      reason: upstreamFailure(codeOf(code)).reason,
      reply: this.#errors.ofUpstream({ code, details: '' }, REQUEST_ID),
    }));
  }

  /** The failures of the server with one of the given reasons, for a method that requires the given scope. */
  ofServer(reasons: ReadonlySet<string>, scope: string | undefined): FailureReply[] {
    return Object.entries(serverExamples)
      .filter(([reason]) => reasons.has(reason))
      .map(([reason, example]) => ({
        reason,
        reply: this.#errors.ofUpstream(
          failureReply(toCallFailure(example(scope)), REQUEST_ID, MAX_TRAILER_BYTES),
          REQUEST_ID,
        ),
      }));
  }
}
