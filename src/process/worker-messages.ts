import type { Addresses } from './local-mode-hint.js';

/** The addresses that all workers share. */
export type WorkerAddresses = Pick<Addresses, 'grpcAddress' | 'httpUrl'>;

/** A message from a worker to its primary process, as JSON. */
export type WorkerMessage =
  /** It serves. */
  | { readonly kind: 'listening'; readonly addresses: WorkerAddresses }
  /** It cannot start, for the given reason. */
  | { readonly kind: 'failed'; readonly problem: string }
  /** It was asked to stop; it serves until its primary process tells it to stop. */
  | { readonly kind: 'leaving' }
  /** Its report: on request, and once more at its end. */
  | { readonly kind: 'report'; readonly report: unknown };

/** A message from the primary process to a worker: to stop, or to report. */
export interface PrimaryMessage {
  readonly kind: 'stop' | 'report';
}

/** The environment variable with a worker's number. */
export const WORKER_NUMBER = 'WORKER_NUMBER';
