import cluster from 'node:cluster';
import { type PrimaryMessage, WORKER_NUMBER, type WorkerMessage } from './worker-messages.js';

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

/** Listens for a message of the primary process. @returns a function that stops listening */
export function onPrimary(kind: PrimaryMessage['kind'], listener: () => void): () => void {
  const heard = (message: PrimaryMessage): void => {
    if (message.kind === kind) listener();
  };
  process.on('message', heard);
  return () => {
    process.off('message', heard);
  };
}
