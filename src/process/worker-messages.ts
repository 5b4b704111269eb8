import type { Addresses } from './local-mode-hint.js';

/** The addresses that all workers share. */
export type WorkerAddresses = Pick<Addresses, 'grpcAddress' | 'httpUrl'>;

/** What a worker tells its primary process, as JSON. */
export type WorkerMessage =
  /** It serves. */
  | { readonly kind: 'listening'; readonly addresses: WorkerAddresses }
  /** It cannot start, for this reason. */
  | { readonly kind: 'failed'; readonly problem: string }
  /** Somebody wants it to stop; it serves until it is told to. */
  | { readonly kind: 'leaving' }
  /** How it is: when it was asked, and once more at its end. */
  | { readonly kind: 'report'; readonly report: unknown };

/** What the primary process tells a worker: to stop, or to say how it is. */
export interface PrimaryMessage {
  readonly kind: 'stop' | 'report';
}

/** The variable of a worker's environment that holds its number. */
export const WORKER_NUMBER = 'WORKER_NUMBER';
