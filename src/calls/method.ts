import type { Caller } from '../auth/auth-result.js';
import type { CallMetadata } from './call.js';

/** The requirement of a method: nothing, or a token with this scope. */
export type Access = 'public' | { readonly scope: string };

/** The context of a handler beside the request message. */
export interface HandlerContext {
  readonly metadata: CallMetadata;
  /** The caller; absent where the method is public. */
  readonly caller: Caller | undefined;
}

/** A unary method as the pipeline runs it: bytes in, bytes out. */
export interface Method {
  /** `/package.Service/Method` */
  readonly path: string;
  /** Without it, every call is refused. */
  readonly access: Access | undefined;
  run(message: Uint8Array, context: HandlerContext): Uint8Array | Promise<Uint8Array>;
}
