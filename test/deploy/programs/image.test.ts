import { execFile } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, inject, it } from 'vitest';
import { IMAGE } from '../../support/compose-file.js';

const ROOT = resolve(import.meta.dirname, '../../..');
const BUILD_LIMIT_MS = 180_000;

/** The paths that .dockerignore lets into the build context. */
function contextPaths(): string[] {
  return readFileSync(join(ROOT, '.dockerignore'), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('!'))
    .map((line) => line.slice(1))
    .flatMap((path) =>
      path.includes('*') ? readdirSync(join(ROOT, 'packages')).map((name) => path.replace('*', name)) : path,
    );
}

/** Links installed packages into the context; those of the workspace lead to the context's own folders. */
function linkPackages(folder: string): void {
  mkdirSync(join(folder, 'node_modules'));
  for (const name of readdirSync(join(ROOT, 'node_modules'))) {
    if (name !== '@route-registry')
      symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name));
  }
  mkdirSync(join(folder, 'node_modules/@route-registry'));
  for (const name of readdirSync(join(ROOT, 'packages'))) {
    symlinkSync(join(folder, 'packages', name), join(folder, 'node_modules/@route-registry', name));
    const own = join(ROOT, 'packages', name, 'node_modules');
    if (existsSync(own)) symlinkSync(own, join(folder, 'packages', name, 'node_modules'));
  }
}

it('the image is built from the files in its context alone', { timeout: BUILD_LIMIT_MS }, async () => {
  const folder = mkdtempSync(join(inject('temporaryFolder'), 'image-'));
  for (const path of contextPaths()) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    cpSync(join(ROOT, path), join(folder, path), { recursive: true });
  }
  linkPackages(folder);
  const [, command = ''] =
    /^COPY src .*\nRUN (.*)$/m.exec(
      readFileSync(join(ROOT, 'Dockerfile'), 'utf8').replaceAll(/^#.*\n/gm, ''),
    ) ?? [];
  await promisify(execFile)('sh', ['-ec', command], { cwd: folder });
  expect(existsSync(join(folder, 'dist/main.js'))).toBe(true);
  expect(existsSync(join(folder, 'packages/transcoder/dist/index.js'))).toBe(true);
});

it('the image can be read by its user though its files come from a clone under umask 077', async () => {
  const folder = mkdtempSync(join(inject('temporaryFolder'), 'modes-'));
  const app = join(folder, 'app');
  for (const [, words = ''] of IMAGE.matchAll(/^COPY (?!--from)(.*) \S+$/gm))
    for (const path of words.split(' ')) {
      mkdirSync(dirname(join(app, path)), { recursive: true, mode: 0o700 });
      cpSync(join(ROOT, path), join(app, path));
      chmodSync(join(app, path), 0o600);
    }
  const command = /^RUN --mount=\S+ (.*)$/m.exec(IMAGE)?.[1] ?? 'false';
  await promisify(execFile)('sh', ['-ec', command.replace('npm ci', 'true')], { cwd: app });
  const closed = readdirSync(app, { recursive: true, encoding: 'utf8' }).filter((path) => {
    const status = statSync(join(app, path));
    const needed = status.isDirectory() ? 0o005 : 0o004;
    return (status.mode & needed) !== needed;
  });
  expect(closed).toEqual([]);
});
