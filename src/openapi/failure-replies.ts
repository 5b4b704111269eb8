import { Metadata, status } from '@grpc/grpc-js';
import type { Contract } from '../../packages/transcoder/src/template/contract.js';
import { ErrorReplies } from '../../packages/transcoder/src/failures/error-reply.js';
import { Failure, type FailureReason } from '../../packages/transcoder/src/failures/failure.js';
import type { ErrorReply } from '../../packages/transcoder/src/http-reply.js';
import { upstreamFailure } from '../../packages/transcoder/src/failures/upstream-failure.js';
import type { UnaryReply } from '../../packages/transcoder/src/upstream.js';
import { BadRequest, ErrorInfo, RequestInfo } from '../gen/google/rpc/error_details.js';
import { Status } from '../gen/google/rpc/status.js';
import { failureExample } from './failure-examples.js';

/** The request id of all examples. */
export const REQUEST_ID = '8d3f6a1e-27c4-4b90-9e5d-f1a0b2c3d4e5';

/** A failure, and what the gateway answers in its case. */
export interface FailureReply {
  readonly reason: string;
  readonly reply: ErrorReply;
}

/** The answers of failures, made by the gateway's own code. */
export class FailureReplies {
  readonly #errors: ErrorReplies;
  readonly #domain: string;
  readonly #codes: Readonly<Record<string, status>>;

  /**
   * @param codes the status code of each failure of the server, by its reason
   * @param realm the realm that challenges name
   */
  constructor(contract: Contract, codes: Readonly<Record<string, status>>, realm: string) {
    this.#errors = new ErrorReplies({ registry: contract.registry, domain: contract.domain, realm });
    this.#domain = contract.domain;
    this.#codes = codes;
  }

  /** A failure that the gateway finds itself. */
  ofGateway(reason: FailureReason): FailureReply {
    const { message, ...context } = failureExample(reason);
    return { reason, reply: this.#errors.ofFailure(new Failure(reason, message, context), REQUEST_ID) };
  }

  /** All failures of the way to the server. */
  ofChannel(): FailureReply[] {
    const codes = Object.values(status).filter((code): code is status => typeof code === 'number');
    return codes.map((code) => ({
      reason: upstreamFailure(code).reason,
      reply: this.#errors.ofUpstream({ code, details: '', trailers: new Metadata() }, REQUEST_ID),
    }));
  }

  /** The failures of the server that have one of the given reasons. */
  ofServer(reasons: ReadonlySet<string>, scope: string | undefined): FailureReply[] {
    return Object.entries(this.#codes)
      .filter(([reason]) => reasons.has(reason))
      .map(([reason, code]) => ({
        reason,
        reply: this.#errors.ofUpstream(this.#serverReply(reason, code, scope), REQUEST_ID),
      }));
  }

  #serverReply(reason: string, code: status, scope: string | undefined): UnaryReply {
    const { message, metadata = {}, violations = [] } = failureExample(reason);
    const needed = code === status.PERMISSION_DENIED && scope !== undefined ? { scope } : {};
    const info = { reason, domain: this.#domain, metadata: { ...metadata, ...needed } };
    const fieldViolations = violations.map((each) => ({ ...each, reason: '', localizedMessage: undefined }));
    const details = [
      any('ErrorInfo', ErrorInfo.encode(info).finish()),
      ...(violations.length > 0 ? [any('BadRequest', BadRequest.encode({ fieldViolations }).finish())] : []),
      any('RequestInfo', RequestInfo.encode({ requestId: REQUEST_ID, servingData: '' }).finish()),
    ];
    const trailers = new Metadata();
    const bytes = Status.encode({ code, message, details }).finish();
    trailers.set('grpc-status-details-bin', Buffer.from(bytes));
    return { code, details: message, trailers };
  }
}

function any(name: string, bytes: Uint8Array): Status['details'][number] {
  return { typeUrl: `type.googleapis.com/google.rpc.${name}`, value: Buffer.from(bytes) };
}
