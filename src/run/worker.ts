import cluster from 'node:cluster';
import type { Addresses } from './local-mode-hint.js';

/** The environment variable with a worker's number. */
export const WORKER_NUMBER = 'WORKER_NUMBER';

/** The addresses that all workers share. */
export type WorkerAddresses = Pick<Addresses, 'grpcAddress' | 'httpUrl'>;

/** A message from a worker to its primary process, as JSON. */
export type WorkerMessage =
  /** It serves. From now on it sends nothing but reports. */
  | { readonly kind: 'listening'; readonly addresses: WorkerAddresses }
  /** It cannot start, for the given reason. */
  | { readonly kind: 'failed'; readonly problem: string }
  /** Its report on request. */
  | { readonly kind: 'report'; readonly report: unknown };

/** A message from the primary process to a worker: to stop, or to report. */
export interface PrimaryMessage {
  readonly kind: 'stop' | 'report';
}

/** The number of this worker, from 1; undefined in a process that is not a worker, or is another program's. */
export function workerNumber(): number | undefined {
  const number = process.env[WORKER_NUMBER];
  return cluster.isWorker && number !== undefined ? Number(number) : undefined;
}

/** Sends a message to the primary process; resolves once it is sent. */
export function tellPrimary(message: WorkerMessage): Promise<void> {
  return new Promise((resolve) => {
    // A worker that has lost its primary process is about to end.
    if (process.send === undefined || !process.connected) resolve();
    else
      process.send(message, () => {
        resolve();
      });
  });
}

/** Listens for a message of the primary process. */
export function onPrimary(kind: PrimaryMessage['kind'], listener: () => void): void {
  process.on('message', (message: PrimaryMessage) => {
    if (message.kind === kind) listener();
  });
}
