import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { installPackages, unpackPackages } from './debian-packages.js';
import { reasonOf } from './reason.js';

const run = promisify(execFile);

/** How to find a program that does not come from npm, and where to get it. */
interface Source {
  /** The names of its executable, in order of preference; default: the key in the table. */
  readonly names?: readonly string[];
  /** Arguments with which it exits with 0 if all its dependencies are installed; default: `--version`. */
  readonly trial?: readonly string[];
  /** Its packages in Debian and Ubuntu; empty if there are none. */
  readonly packages: readonly string[];
  /** Whether its packages must be installed, which requires INSTALL=1; default: unpacking them is enough. */
  readonly installed?: true;
  /** An environment variable that may hold its path. */
  readonly variable?: string;
}

/** The programs that tests need and npm does not install. */
const PROGRAMS = {
  chromium: {
    names: ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'],
    packages: ['chromium'],
    installed: true,
    variable: 'CHROME_PATH',
  },
  curl: { packages: ['curl'] },
  go: { trial: ['version'], packages: ['golang-go'] },
  grpcurl: { trial: ['-version'], packages: [] },
  haproxy: { trial: ['-v'], packages: ['haproxy'] },
  kubectl: { trial: ['version', '--client'], packages: ['kubernetes-client'] },
  mariadbd: {
    names: ['mariadbd', 'mysqld'],
    trial: ['--no-defaults', '--version'],
    // Unlike mariadb-server, these packages contain only programs and start no service.
    packages: ['mariadb-server-core', 'mariadb-client-core'],
  },
  mysql: { packages: ['mariadb-client-core', 'mariadb-client'] },
  mysqldump: { packages: ['mariadb-client-core', 'mariadb-client'] },
  prometheus: { packages: ['prometheus'] },
  promtool: { packages: ['prometheus'] },
  python: {
    names: ['python3'],
    trial: ['-c', 'import grpc, google.protobuf'],
    packages: ['python3-grpcio'],
  },
  sqlite3: { packages: ['sqlite3'] },
  'systemd-analyze': { packages: ['systemd'], installed: true },
} as const satisfies Readonly<Record<string, Source>>;

export type ProgramName = keyof typeof PROGRAMS;

/**
 * What tests need and npm does not install: a program, a MySQL-protocol server, the programs of a Galera cluster, or
 * the right to run programs as another user.
 */
export type Need = ProgramName | 'server' | 'galera' | 'another user';

/** Whether Debian packages the program, so that a run with CI=true requires it. */
export function isPackaged(name: ProgramName): boolean {
  return PROGRAMS[name].packages.length > 0;
}

/** The PATH, and folders that are often not on the PATH of an ordinary user. */
const FOLDERS = [
  ...(process.env['PATH'] ?? '').split(delimiter),
  '/usr/sbin',
  '/usr/libexec',
  '/usr/local/sbin',
  '/usr/local/bin',
  '/usr/local/mysql/bin',
  '/opt/homebrew/bin',
];

/** The first executable with one of these names; each folder is searched for every name before the next folder. */
export async function findExecutable(
  names: readonly string[],
  folders: readonly string[] = FOLDERS,
): Promise<string | undefined> {
  for await (const path of executables(names, folders)) return path;
  return undefined;
}

/** The path of a working program on this machine. @throws Error that says what is missing */
export async function findProgram(name: ProgramName): Promise<string> {
  const { variable }: Source = PROGRAMS[name];
  const configured = variable === undefined ? undefined : process.env[variable];
  return configured ?? workingProgram(name, FOLDERS);
}

/**
 * The path of a working program: on this machine, or unpacked from the distribution's packages. A program that must be
 * installed is installed if the user is root and INSTALL=1 is set.
 *
 * @throws Error with why each attempt failed
 */
export async function supplyProgram(name: ProgramName): Promise<string> {
  const source: Source = PROGRAMS[name];
  const attempts = [() => findProgram(name)];
  if (source.packages.length > 0 && source.installed === undefined)
    attempts.push(() => unpackedProgram(name));
  if (source.installed === true && process.env['INSTALL'] === '1') {
    attempts.push(async () => {
      await installPackages(source.packages);
      return findProgram(name);
    });
  }
  return firstOf(attempts);
}

/** The path of a program from the unpacked packages of the distribution. @throws Error if they are not available */
export async function unpackedProgram(name: ProgramName): Promise<string> {
  const { packages, names }: Source = PROGRAMS[name];
  return workingProgram(name, [await unpackPackages(packages, names)]);
}

/** How to get a program that was not found, as a clause. */
export function programAdvice(name: ProgramName): string {
  const { packages, installed, variable }: Source = PROGRAMS[name];
  const debian = packages.length === 0 ? '' : ` (in Debian: ${packages.join(', ')})`;
  const named = variable === undefined ? '' : `, name it in ${variable}`;
  const asRoot = installed === true ? ', or run the tests as root with INSTALL=1' : '';
  return `put ${name} on the PATH${debian}${named}${asRoot}`;
}

/** The result of the first attempt that succeeds. @throws Error with why each failed, in one line */
export async function firstOf<T>(attempts: readonly (() => Promise<T>)[]): Promise<T> {
  const refusals: string[] = [];
  for (const attempt of attempts) {
    try {
      return await attempt();
    } catch (error) {
      refusals.push(reasonOf(error));
    }
  }
  throw new Error(refusals.join('; '));
}

async function workingProgram(name: ProgramName, folders: readonly string[]): Promise<string> {
  const { names = [name], trial = ['--version'] }: Source = PROGRAMS[name];
  let complaint = `there is no ${names.join(' or ')}`;
  for await (const path of executables(names, folders)) {
    try {
      await run(path, trial);
      return path;
    } catch (error) {
      complaint = reasonOf(error);
    }
  }
  throw new Error(complaint);
}

async function* executables(names: readonly string[], folders: readonly string[]): AsyncGenerator<string> {
  for (const path of folders.flatMap((folder) => names.map((name) => join(folder, name)))) {
    const usable = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (usable) yield path;
  }
}
