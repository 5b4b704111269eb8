import type { Caller } from '../auth/token.js';
import type { CallMetadata } from './call.js';

/** What a method requires of a call: nothing, or a token with this scope. */
export type Access = 'public' | { readonly scope: string };

/** The context of a handler, without the request message. */
export interface HandlerContext {
  readonly metadata: CallMetadata;
  /** The caller; absent if the method is public. */
  readonly caller: Caller | undefined;
  /** Whether nobody waits for the response any longer: the deadline has passed, or the client has cancelled. */
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
  /** The cached response to the request, if there is one. Default: every request is handled. */
  recall?(request: Request): Uint8Array | undefined;
  handle(request: Request, context: HandlerContext): Uint8Array | Promise<Uint8Array>;
}
