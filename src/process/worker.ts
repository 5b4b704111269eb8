import cluster from 'node:cluster';
import { type PrimaryMessage, WORKER_NUMBER, type WorkerMessage } from './worker-messages.js';

/** The number of this worker, from 1 on; undefined in a process that is none, or another program's. */
export function workerNumber(): number | undefined {
  const number = process.env[WORKER_NUMBER];
  return cluster.isWorker && number !== undefined ? Number(number) : undefined;
}

/** Tells the primary process; resolves once the message is on its way. */
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

/** Does what the primary process tells this worker. @returns a function that ends this */
export function onPrimary(kind: PrimaryMessage['kind'], listener: () => void): () => void {
  const heard = (message: PrimaryMessage): void => {
    if (message.kind === kind) listener();
  };
  process.on('message', heard);
  return () => {
    process.off('message', heard);
  };
}
