import type { Caller } from '../auth/auth-result.js';
import type { CallMetadata } from './call.js';

/** The requirement of a method: nothing, or a token with this scope. */
export type Access = 'public' | { readonly scope: string };

/** The context of a handler, without the request message. */
export interface HandlerContext {
  readonly metadata: CallMetadata;
  /** The caller; absent if the method is public. */
  readonly caller: Caller | undefined;
  /** Whether nobody waits for the answer any longer: the deadline has passed, or the client has left. */
  readonly signal: Pick<AbortSignal, 'aborted'>;
}

/** A unary method as the pipeline runs it: bytes in, bytes out. */
export interface Method<Request = unknown> {
  /** `/package.Service/Method` */
  readonly path: string;
  /** If undefined, every call is refused. */
  readonly access: Access | undefined;
  /** @throws CallError `REQUEST_MALFORMED` */
  decode(message: Uint8Array): Request;
  /** The answer to an earlier request, which is still right. Default: every request is handled. */
  recall?(request: Request): Uint8Array | undefined;
  handle(request: Request, context: HandlerContext): Uint8Array | Promise<Uint8Array>;
}
