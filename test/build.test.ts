import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, inject, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '..');
const CONFIGURATION = ['scripts/build.mjs', 'tsconfig.build.json', 'package.json'];
const PACKAGE_CONFIGURATION = ['tsconfig.build.json', 'tsconfig.commonjs.json', 'package.json'];
const PACKAGES = ['packages/transcoder', 'packages/client'];
const SOURCES = ['src/main.ts', ...PACKAGES.map((name) => `${name}/src/index.ts`)];
/** Far longer than a build of these sources takes. */
const ENDLESS_MS = 60_000;
/** What the projects extend, without what is slow to check. */
const SHARED = { target: 'es2023', module: 'nodenext', strict: true, types: [], skipLibCheck: true };

/** A copy of this repository's build in which each project has one short source. */
function copyOfTheBuild(): string {
  const folder = mkdtempSync(join(inject('temporaryFolder'), 'build-'));
  const ofPackages = PACKAGES.flatMap((name) => PACKAGE_CONFIGURATION.map((file) => join(name, file)));
  for (const file of [...CONFIGURATION, ...ofPackages]) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    copyFileSync(join(ROOT, file), join(folder, file));
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: SHARED }));
  for (const source of SOURCES) {
    mkdirSync(dirname(join(folder, source)), { recursive: true });
    writeFileSync(join(folder, source), 'export const answer: number = 42;\n');
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

/** Runs the build. The status is null if it does not end. */
function build(folder: string) {
  const { status, stderr } = spawnSync(process.execPath, ['scripts/build.mjs'], {
    cwd: folder,
    encoding: 'utf8',
    timeout: ENDLESS_MS,
  });
  return { status, stderr };
}

describe('npm run build', () => {
  it('says what it builds, and nothing once all is up to date', () => {
    const folder = copyOfTheBuild();
    expect(build(folder)).toEqual({
      status: 0,
      stderr: 'Building packages/transcoder …\nBuilding the service …\nBuilding packages/client …\n',
    });
    expect(build(folder)).toEqual({ status: 0, stderr: '' });
  });

  it.each(SOURCES)('ends with a status and the place of a type error in %s', (source) => {
    const folder = copyOfTheBuild();
    writeFileSync(join(folder, source), "export const answer: number = '42';\n");
    const { status, stderr } = build(folder);
    expect(status).toBe(1);
    expect(stderr).toContain(source);
    expect(stderr).toContain("Type 'string' is not assignable to type 'number'.");
  });

  it('without the packages for development says so in one line', () => {
    const folder = mkdtempSync(join(inject('temporaryFolder'), 'production-'));
    mkdirSync(join(folder, 'scripts'));
    copyFileSync(join(ROOT, 'scripts/build.mjs'), join(folder, 'scripts/build.mjs'));
    expect(build(folder)).toEqual({
      status: 1,
      stderr: 'To build the service, install what it is built with, too: npm ci --include=dev\n',
    });
  });
});
