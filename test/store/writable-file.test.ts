import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { tmpdir } from 'node:os';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { requireWritable } from '../../src/store/database.js';
import { built } from '../support/built.js';

/** Root can write everything, so the code switches to the user nobody. */
const BECOME_NOBODY = process.getuid?.() === 0 ? 'process.setgroups([]); process.setuid(65_534);' : '';

/** Loaded before the code becomes the user nobody, who may not be able to read this folder. */
const MODULE = pathToFileURL(join(built(), 'store/database.js')).href;

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'writable-'));
  chmodSync(folder, 0o755);
  file = join(folder, 'data/routes.db');
});

afterEach(() => {
  // Without write permission, not even the owner could remove the folder.
  spawnSync('chmod', ['-R', 'u+w', folder]);
  rmSync(folder, { recursive: true });
});

/** The error that an unprivileged user gets for the file; empty for none. */
function toldOf(path: string, cwd = '/'): string {
  const code = `import(${JSON.stringify(MODULE)}).then((it) => { ${BECOME_NOBODY} it.requireWritable(${JSON.stringify(path)}); }).catch((e) => console.log(e.message))`;
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
  it('is accepted if its file can be written or its folder can be created', () => {
    chmodSync(folder, 0o777);
    expect(toldOf(file)).toBe('');
    write(file, 0o666);
    expect(toldOf(file)).toBe('');
  });

  it('gets a new folder that only its owner can access', () => {
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
      'the parent of its folder',
      () => {
        chmodSync(folder, 0o555);
      },
    ],
  ])('is refused when this user may not write %s', (_, protect) => {
    protect();
    expect(toldOf(file)).toMatch(
      /^The embedded database \S+routes\.db cannot be written: EACCES.*\. Let this user write the file and its folder, or name another file in DATABASE_URL\.\n$/,
    );
  });

  it('is refused with its full path when this user may not read its folder', () => {
    mkdirSync(dirname(file));
    chmodSync(dirname(file), 0);
    expect(toldOf('data/routes.db', folder)).toBe(
      `The embedded database ${file} cannot be written: EACCES: permission denied, stat '${file}'. Let this user write the file and its folder, or name another file in DATABASE_URL.\n`,
    );
    chmodSync(dirname(file), 0o700);
  });

  it('is refused when its path is a folder or leads through a file', () => {
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
