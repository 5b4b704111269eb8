import type { Caller } from '../auth/auth-result.js';
import type { CallMetadata } from './call.js';

/** The requirement of a method: nothing, or a token with this scope. */
export type Access = 'public' | { readonly scope: string };

/** Runs work that waits for the database. @throws CallError `OVERLOADED` if no place is free */
export type Admit = <T>(work: () => Promise<T>) => Promise<T>;

/** The context of a handler, without the request message. */
export interface HandlerContext {
  readonly metadata: CallMetadata;
  /** The caller; absent if the method is public. */
  readonly caller: Caller | undefined;
  /** Whether nobody waits for the answer any longer: the deadline has passed, or the client has left. */
  readonly signal: Pick<AbortSignal, 'aborted'>;
  /** Every step that waits passes through this. */
  readonly admit: Admit;
}

/** A unary method as the pipeline runs it: bytes in, bytes out. */
export interface Method {
  /** `/package.Service/Method` */
  readonly path: string;
  /** If undefined, every call is refused. */
  readonly access: Access | undefined;
  run(message: Uint8Array, context: HandlerContext): Uint8Array | Promise<Uint8Array>;
}
