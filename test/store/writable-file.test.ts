import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { tmpdir } from 'node:os';
import ts from 'typescript';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { requireWritable } from '../../src/store/writable-file.js';

/** Root may write everything, so it tries as nobody. */
const BECOME_NOBODY = process.getuid?.() === 0 ? 'process.setgroups([]); process.setuid(65_534);' : '';

/** The module as a URL, since nobody may read this folder. */
const MODULE = `data:text/javascript,${encodeURIComponent(compiled('src/store/writable-file.ts'))}`;

function compiled(path: string): string {
  const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ESNext };
  return ts.transpileModule(readFileSync(resolve(path), 'utf8'), { compilerOptions }).outputText;
}

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'writable-'));
  chmodSync(folder, 0o755);
  file = join(folder, 'data/routes.db');
});

afterEach(() => {
  // What is protected its owner could not remove either.
  spawnSync('chmod', ['-R', 'u+w', folder]);
  rmSync(folder, { recursive: true });
});

/** The complaint about the file that a user without privileges gets; empty for none. */
function toldOf(path: string, cwd = '/'): string {
  const code = `${BECOME_NOBODY} import(${JSON.stringify(MODULE)}).then((it) => it.requireWritable(${JSON.stringify(path)})).catch((e) => console.log(e.message))`;
  const { error, stdout, stderr } = spawnSync(process.execPath, ['-e', code], { cwd, encoding: 'utf8' });
  expect(error).toBeUndefined();
  expect(stderr).toBe('');
  return stdout;
}

function write(path: string, mode: number): void {
  mkdirSync(dirname(path), { recursive: true });
  chmodSync(dirname(path), 0o777);
  writeFileSync(path, '');
  chmodSync(path, mode);
}

describe('an embedded database', () => {
  it('that can be written is accepted, as is one in a folder that can be made', () => {
    chmodSync(folder, 0o777);
    expect(toldOf(file)).toBe('');
    write(file, 0o666);
    expect(toldOf(file)).toBe('');
  });

  it('is put into a folder that is made for its owner alone', () => {
    requireWritable(file);
    expect(statSync(dirname(file)).mode & 0o777).toBe(0o700);
  });

  it.each([
    [
      'its file',
      () => {
        write(file, 0o444);
      },
    ],
    [
      'its log',
      () => {
        write(file, 0o666);
        write(`${file}-wal`, 0o444);
      },
    ],
    [
      'its folder',
      () => {
        write(file, 0o666);
        chmodSync(dirname(file), 0o555);
      },
    ],
    [
      'the folder of its folder',
      () => {
        chmodSync(folder, 0o555);
      },
    ],
  ])('is refused where this user may not write %s', (_, protect) => {
    protect();
    expect(toldOf(file)).toMatch(
      /^The embedded database \S+routes\.db cannot be written: EACCES.*\. Let this user write the file and its folder, or name another file in DATABASE_URL\.\n$/,
    );
  });

  it('is refused by its full path where this user may not read its folder', () => {
    mkdirSync(dirname(file));
    chmodSync(dirname(file), 0);
    expect(toldOf('data/routes.db', folder)).toBe(
      `The embedded database ${file} cannot be written: EACCES: permission denied, stat '${file}'. Let this user write the file and its folder, or name another file in DATABASE_URL.\n`,
    );
    chmodSync(dirname(file), 0o700);
  });

  it('is refused where its name is that of a folder, or leads through a file', () => {
    mkdirSync(file, { recursive: true });
    expect(() => {
      requireWritable(file);
    }).toThrow(`${file} is a folder`);
    write(join(folder, 'a-file'), 0o644);
    expect(() => {
      requireWritable(join(folder, 'a-file/routes.db'));
    }).toThrow(/cannot be written: E(EXIST|NOTDIR)/);
  });
});
