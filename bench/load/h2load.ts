import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { idOf } from '../stored-routes.js';
import { grpcMessage, grpcPath } from './grpc-connection.js';
import { GRPC_CONNECTIONS, type Load } from './load.js';

const run = promisify(execFile);

/** Printed where h2load is not installed. */
export const H2LOAD_ADVICE = 'h2load is not installed: on Debian and Ubuntu, apt-get install nghttp2-client';

/** Whether h2load is installed. */
export async function hasH2load(): Promise<boolean> {
  return run('h2load', ['--version']).then(
    () => true,
    () => false,
  );
}

/**
 * Repeats one request with nghttp2's load generator, in a closed loop. The duration is rounded up to whole seconds.
 *
 * @returns requests per second
 * @throws Error when a request fails
 */
export async function runH2load(load: Load): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'rr-h2load-'));
  try {
    const body = join(folder, 'body');
    await writeFile(body, grpcMessage(load.operation, 0));
    const { stdout } = await run('h2load', [
      `--duration=${Math.ceil(load.durationMs / 1_000)}`,
      `--header=authorization: Bearer ${load.token}`,
      ...(load.wire === 'grpc'
        ? [
            `--clients=${GRPC_CONNECTIONS}`,
            `--max-concurrent-streams=${load.callers / GRPC_CONNECTIONS}`,
            `--data=${body}`,
            '--header=content-type: application/grpc',
            '--header=te: trailers',
            `http://${load.target}${grpcPath(load.operation)}`,
          ]
        : ['--h1', `--clients=${load.callers}`, `http://${load.target}/v1/routing/${idOf(0)}`]),
    ]);
    const failed = /(\d+) failed, (\d+) errored/.exec(stdout);
    const rate = Number(/, ([\d.]+) req\/s/.exec(stdout)?.[1]);
    if (failed?.[1] !== '0' || failed[2] !== '0' || !(rate > 0)) throw new Error(`h2load failed: ${stdout}`);
    return rate;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
