import { connect } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { freePort } from '../support/free-port.js';
import type { Program } from '../support/process.js';
import { startProcess } from './rig/service-process.js';

const ROUNDS = 3;
/** The pause between two connections, in milliseconds. */
const PAUSE_MS = 2;
/** Until workers are replaced after several ends in a row, and until a connection counts as hanging. */
const PATIENCE = { timeout: 30_000 };

/** Strangers' requests, each over a connection of its own. */
class Strangers {
  waiting = 0;
  answered = 0;
  readonly #port: number;

  constructor(port: number) {
    this.#port = port;
  }

  /** Sends a request that waits until it is answered or its connection has ended. */
  ask(): void {
    this.waiting++;
    const socket = connect(this.#port, '127.0.0.1')
      .on('error', () => undefined)
      .once('data', () => {
        this.answered++;
        socket.destroy();
      })
      .once('close', () => this.waiting--);
    socket.write('GET /v1/routing/x HTTP/1.1\r\nHost: x\r\n\r\n');
    onTestFinished(() => void socket.destroy());
  }
}

async function startWorkers() {
  // A port of its own choice would be another one after all workers have ended.
  const port = await freePort();
  const { program } = await startProcess({ WORKERS: '2', HTTP_ADDRESS: `127.0.0.1:${port}` });
  return { program, strangers: new Strangers(port) };
}

/** The processes that have begun to serve, oldest first. */
function served(program: Program): number[] {
  const lines = program.lines().filter(({ msg }) => msg === 'a worker serves');
  return lines.map(({ workerPid }) => Number(workerPid));
}

function endWithSigkill(pid: number): void {
  process.kill(pid, 'SIGKILL');
}

it('two workers that are killed while connections arrive are replaced, and no connection hangs', async () => {
  const { program, strangers } = await startWorkers();
  await expect.poll(() => served(program), PATIENCE).toHaveLength(2);
  const arriving = setInterval(() => {
    strangers.ask();
  }, PAUSE_MS);
  onTestFinished(() => {
    clearInterval(arriving);
  });
  for (let round = 1; round <= ROUNDS; round++) {
    const before = strangers.answered;
    await expect.poll(() => strangers.answered - before, PATIENCE).toBeGreaterThan(100);
    served(program).slice(-2).forEach(endWithSigkill);
    await expect.poll(() => served(program), PATIENCE).toHaveLength(2 + 2 * round);
  }
  clearInterval(arriving);
  await expect.poll(() => strangers.waiting, PATIENCE).toBe(0);
  await expect(program.stop()).resolves.toMatchObject({ exitCode: 0 });
});

it('connections wait for the successor of a killed worker while the other one is frozen', async () => {
  const { program, strangers } = await startWorkers();
  await expect.poll(() => served(program), PATIENCE).toHaveLength(2);
  const [frozen = 0, killed = 0] = served(program);
  process.kill(frozen, 'SIGSTOP');
  endWithSigkill(killed);
  for (let i = 0; i < 20; i++) strangers.ask();
  try {
    await expect.poll(() => strangers.answered, PATIENCE).toBe(20);
  } finally {
    endWithSigkill(frozen);
  }
  await expect.poll(() => served(program), PATIENCE).toHaveLength(4);
  await expect(program.stop()).resolves.toMatchObject({ exitCode: 0 });
});
