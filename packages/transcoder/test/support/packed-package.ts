import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { npmPackages } from '../../../../test/support/npm-packages.js';

const run = promisify(execFile);
const INSTALLED = resolve(import.meta.dirname, '../../../../node_modules');

const STRICT = [
  ...['--module', 'nodenext', '--target', 'es2023', '--types', 'node'],
  ...['--strict', '--exactOptionalPropertyTypes', '--skipLibCheck', 'false'],
];

/** A package of this repository as its users have it: packed, and installed in a separate folder. */
export interface PackedPackage {
  /** The folder of the user's project. */
  readonly folder: string;
  /** The package in its `node_modules`. */
  readonly installed: string;
  /** Runs a program in that folder and returns what it prints. Rejects when it fails. */
  run(program: string, args: readonly string[], env?: Readonly<Record<string, string>>): Promise<string>;
  /** Compiles a TypeScript program in that folder with strict options. Rejects with the errors. */
  compile(file: string, ...options: readonly string[]): Promise<string>;
  /** Runs a test with Jest as it comes: `require()` without flags. Rejects when it fails. Default: the environment of Node. */
  jest(test: string, environment?: 'node' | 'jsdom'): Promise<void>;
  /** What `@arethetypeswrong/cli` finds wrong with the types, but for entries without types. Empty if it is nothing. */
  typeProblems(untyped?: readonly string[]): Promise<string>;
  remove(): Promise<void>;
}

/**
 * Packs a package and installs it, with links to the given packages of this repository instead of downloads.
 *
 * @param source the folder of the package, named like the package.
 */
export async function installPacked(source: string, beside: readonly string[]): Promise<PackedPackage> {
  const folder = await mkdtemp(join(tmpdir(), 'packed-'));
  const modules = join(folder, 'node_modules');
  const installed = join(modules, '@route-registry', basename(source));
  await mkdir(installed, { recursive: true });
  await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: source });
  const [tarball = ''] = (await readdir(folder)).filter((name) => name.endsWith('.tgz'));
  await run('tar', ['-xzf', join(folder, tarball), '-C', installed, '--strip-components=1']);
  for (const name of beside) {
    await mkdir(resolve(modules, name, '..'), { recursive: true });
    await symlink(join(INSTALLED, name), join(modules, name));
  }
  const runIn: PackedPackage['run'] = async (program, args, env = {}) => {
    const { PATH } = process.env;
    const { stdout } = await run(program, args, { cwd: folder, env: { PATH, HOME: folder, ...env } });
    return stdout;
  };
  return {
    folder,
    installed,
    run: runIn,
    compile: (file, ...options) => runIn('tsc', [...STRICT, ...options, file]),
    jest: async (test, environment = 'node') => {
      const tools = await npmPackages({ jest: '30.5.2', 'jest-environment-jsdom': '30.5.2' });
      await writeFile(join(folder, 'required.test.js'), test);
      const used = ['--env', join(tools, `jest-environment-${environment}`)];
      await runIn('node', [join(tools, 'jest/bin/jest.js'), ...used, 'required.test.js']);
    },
    typeProblems: async (untyped = []) => {
      const excluded = untyped.length === 0 ? [] : ['--exclude-entrypoints', ...untyped];
      const tools = await npmPackages({ '@arethetypeswrong/cli': '0.18.5' });
      const options = ['--no-emoji', '--no-color', ...excluded];
      const checked = run(join(tools, '.bin/attw'), [join(folder, tarball), ...options]);
      const failed = (error: unknown): string => (error as { stdout: string }).stdout;
      return checked.then(() => '', failed);
    },
    remove: () => rm(folder, { recursive: true }),
  };
}

/** The links of a page of an installed package that lead nowhere in it: npm shows the package alone. */
export function linksOutside(installed: string, page: string): string[] {
  const targets = readFileSync(join(installed, page), 'utf8').matchAll(/\]\(([^)\s]+)\)/g);
  return [...targets]
    .map(([, target = '']) => target)
    .filter(
      (target) =>
        !/^(?:https?:|#)/.test(target) &&
        !existsSync(join(installed, dirname(page), target.replace(/#.*/, ''))),
    );
}
