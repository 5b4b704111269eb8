import { once } from 'node:events';
import { connect } from 'node:net';
import { Worker } from 'node:worker_threads';

/** An address on loopback where nothing is accepted and nothing refused: whoever connects is left waiting. */
export interface FullListener {
  readonly address: string;
  close(): Promise<void>;
}

// A thread that sleeps accepts nobody. Linux drops what comes when one more than the backlog wait.
const SLEEPER = `
  const { createServer } = require('node:net');
  const { parentPort } = require('node:worker_threads');
  const server = createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
    parentPort.postMessage(server.address().port);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });
`;
const FITTING = 2;

/** Starts one. */
export async function listenFull(): Promise<FullListener> {
  const worker = new Worker(SLEEPER, { eval: true });
  const [port] = (await once(worker, 'message')) as [number];
  const waiting = Array.from({ length: FITTING }, () => connect(port, '127.0.0.1'));
  await Promise.all(waiting.map((socket) => once(socket, 'connect')));
  return {
    address: `127.0.0.1:${port}`,
    async close() {
      for (const socket of waiting) socket.destroy();
      await worker.terminate();
    },
  };
}
