import { execFile } from 'node:child_process';
import { access } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Runs one of apt's programs, one at a time among the runs of these tests, and out of reach of Ctrl-C. */
async function apt(...args: readonly string[]): Promise<void> {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  await run('setsid', ['--wait', 'flock', '/etc/apt', 'apt-get', ...args], {
    env,
    maxBuffer: 64 * 1024 * 1024,
  });
}

/**
 * Installs Chromium from the packages of Debian or Ubuntu. Rejects when this is another system or an ordinary user,
 * or when the package cannot be had.
 */
export async function installChromium(): Promise<void> {
  if (process.getuid?.() !== 0) throw new Error('needs root');
  await access('/etc/debian_version');
  process.stderr.write(
    'Installing chromium with apt-get: the tests of the page need it, CHROME_PATH is not set, and none is on the PATH.\n',
  );
  await apt('update', '-qq');
  await apt('install', '-y', '-qq', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=600', 'chromium');
}
