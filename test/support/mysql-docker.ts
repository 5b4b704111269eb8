import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { launchMysqlServer, type RunningMysqlServer } from './mysql-launch.js';

const run = promisify(execFile);

const IMAGE = 'mysql:8.4';
const ANSWER_MS = 10_000;
const PULL_MS = 600_000;

async function ensureImage(): Promise<void> {
  try {
    await run('docker', ['image', 'inspect', IMAGE]);
  } catch {
    process.stderr.write(`Pulling the Docker image ${IMAGE}: the tests need a MySQL-protocol server.\n`);
    await run('docker', ['pull', '--quiet', IMAGE], { timeout: PULL_MS });
  }
}

/**
 * Starts a private server in a Docker container.
 *
 * @throws Error if Docker does not respond or the image is not available
 */
export async function startDockerServer(): Promise<RunningMysqlServer> {
  await run('docker', ['version', '--format', '{{.Server.Version}}'], { timeout: ANSWER_MS });
  await ensureImage();
  return launchMysqlServer((port) => {
    const name = `rr-mysql-${randomBytes(6).toString('hex')}`;
    const password = randomBytes(16).toString('hex');
    const publish = `127.0.0.1:${port}:3306`;
    return Promise.resolve({
      url: `mysql://root:${password}@127.0.0.1:${port}`,
      commands: [
        [
          'docker',
          'run',
          '--rm',
          '--name',
          name,
          '--publish',
          publish,
          '--env',
          'MYSQL_ROOT_PASSWORD',
          IMAGE,
        ],
      ],
      afterwards: [['docker', 'rm', '--force', '--volumes', name]],
      // Passed in the environment, so that the process list does not show it.
      env: { MYSQL_ROOT_PASSWORD: password },
    });
  });
}
