import { execFile } from 'node:child_process';
import { access, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/**
 * Runs one of apt's programs, one at a time among the runs of these tests, since `apt-get update` does not wait for its
 * own lock, and protected from Ctrl-C, which would leave packages half installed.
 */
async function apt(program: string, ...args: string[]): Promise<string> {
  return aptIn(process.cwd(), program, ...args);
}

/** The same, in a folder. */
async function aptIn(cwd: string, program: string, ...args: string[]): Promise<string> {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const { stdout } = await run('setsid', ['--wait', 'flock', '/etc/apt', program, ...args], {
    cwd,
    env,
    maxBuffer: 64 * 1024 * 1024,
  });
  return stdout;
}

/** The package's name in this release: some carry the version in it, such as `mariadb-server-core-10.6`. */
async function nameInThisRelease(name: string): Promise<string> {
  const names = (await apt('apt-cache', 'pkgnames', name)).split('\n').filter(Boolean);
  return names.includes(name) ? name : (names.sort()[0] ?? name);
}

/**
 * Installs packages of Debian or Ubuntu, and says so on stderr. Rejects on another system, for an ordinary user, or
 * when the packages are not available.
 *
 * @param why a clause that says what needs them and what was tried before
 */
export async function installPackages(packages: readonly string[], why: string): Promise<void> {
  if (process.getuid?.() !== 0) throw new Error('needs root');
  await access('/etc/debian_version');
  process.stderr.write(`Installing ${packages.join(' and ')} with apt-get: ${why}.\n`);
  await apt('apt-get', 'update', '-qq');
  const names = await Promise.all(packages.map(nameInThisRelease));
  const options = ['-y', '-qq', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=600'];
  await apt('apt-get', 'install', ...options, ...names);
}

/**
 * Unpacks a package of Debian or Ubuntu into a folder, unless that is there: nothing is installed, and no service of the
 * package starts. Rejects on another system, or when the package is not available.
 *
 * @param why a clause that says what needs it and what was tried before
 */
export async function unpackPackage(name: string, folder: string, why: string): Promise<void> {
  const present = await access(folder).then(
    () => true,
    () => false,
  );
  if (present) return;
  await access('/etc/debian_version');
  process.stderr.write(`Unpacking the package ${name} into ${folder}: ${why}.\n`);
  // An ordinary user has the lists that the system has.
  if (process.getuid?.() === 0) await apt('apt-get', 'update', '-qq');
  await mkdir(dirname(folder), { recursive: true });
  const draft = await mkdtemp(`${folder}-`);
  await aptIn(draft, 'apt-get', 'download', '-qq', '-o', 'APT::Sandbox::User=root', name);
  const [file = ''] = await readdir(draft);
  const content = join(draft, 'content');
  await run('dpkg-deb', ['--extract', join(draft, file), content]);
  // At once, so that no other run finds half of it; one that was faster has the same.
  await rename(content, folder).catch(() => undefined);
  await rm(draft, { recursive: true });
}
