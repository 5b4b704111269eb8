import type { Caller } from '../auth/auth-result.js';
import type { CallMetadata } from './call.js';

/** The requirement of a method: nothing, or a token with this scope. */
export type Access = 'public' | { readonly scope: string };

/** Runs work that waits for the database. @throws CallError `OVERLOADED` where there is no place for it */
export type Admit = <T>(work: () => Promise<T>) => Promise<T>;

/** The context of a handler beside the request message. */
export interface HandlerContext {
  readonly metadata: CallMetadata;
  /** The caller; absent where the method is public. */
  readonly caller: Caller | undefined;
  /** Whether nobody waits for the answer any more: the deadline has passed, or the client has gone. */
  readonly signal: Pick<AbortSignal, 'aborted'>;
  /** Every step that waits passes through this. */
  readonly admit: Admit;
}

/** A unary method as the pipeline runs it: bytes in, bytes out. */
export interface Method {
  /** `/package.Service/Method` */
  readonly path: string;
  /** Without it, every call is refused. */
  readonly access: Access | undefined;
  run(message: Uint8Array, context: HandlerContext): Uint8Array | Promise<Uint8Array>;
}
