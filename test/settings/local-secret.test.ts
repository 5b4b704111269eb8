import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { localSecret } from '../../src/settings/local-secret.js';
import { buildFolder } from '../support/build-folder.js';

/** Root can read everything, so the code switches to the user nobody, who cannot read the project. */
const BECOME_NOBODY = process.getuid?.() === 0 ? 'process.setgroups([]); process.setuid(65_534);' : '';
const SECRET = 'a'.repeat(64);

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'secret-'));
  file = join(folder, 'data/jwt-secret');
  mkdirSync(join(folder, 'data'));
});

afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

/** Returns the secret that another process reads or creates. */
async function secretOfProcess(): Promise<string> {
  const print = `process.stdout.write((await import('${buildFolder()}/settings/local-secret.js')).localSecret(process.argv[1]))`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', print, file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.on('data', (data: Buffer) => (text += data.toString()));
  await once(child, 'close');
  return text;
}

describe('the local secret', () => {
  it('is created once, together with its folder, with access only for its owner', () => {
    rmSync(join(folder, 'data'), { recursive: true });
    const secret = localSecret(file);
    expect(secret).toMatch(/^[0-9a-f]{64}$/);
    expect(localSecret(file)).toBe(secret);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, 'data')).mode & 0o777).toBe(0o700);
    expect(readdirSync(join(folder, 'data'))).toEqual(['jwt-secret']);
  });

  it('is the same for processes that start together', async () => {
    const secrets = await Promise.all(Array.from({ length: 4 }, secretOfProcess));
    expect(secrets[0]).toMatch(/^[0-9a-f]{64}$/);
    expect(new Set(secrets).size).toBe(1);
  });

  it('may end with a newline', () => {
    write(file, `${SECRET}\n`);
    expect(localSecret(file)).toBe(SECRET);
  });

  it('is not written through a link planted at the name of a temporary file', () => {
    const prey = join(folder, 'prey');
    const planted = `${file}.${process.pid}`;
    symlinkSync(prey, planted);
    localSecret(file);
    expect(existsSync(prey)).toBe(false);
    expect(readdirSync(join(folder, 'data'))).toContain(`jwt-secret.${process.pid}`);
  });

  it('is used whatever mode its file has, as on a file system without modes', () => {
    writeFileSync(file, SECRET);
    chmodSync(file, 0o666);
    expect(localSecret(file)).toBe(SECRET);
  });

  it.each<[string, () => unknown]>([
    [
      'a link to a secret',
      () => execFileSync('sh', ['-c', 'echo "$0" > "$1.real"; ln -s "$1.real" "$1"', SECRET, file]),
    ],
    ['a link to nothing', () => execFileSync('ln', ['-s', join(folder, 'nothing'), file])],
    ['a folder', () => mkdirSync(file, { recursive: true })],
    ['a pipe, without waiting for it', () => execFileSync('mkfifo', [file])],
    ['too short', () => write(file, 'a'.repeat(63))],
    ['longer than a secret', () => write(file, `${SECRET}\n${'x'.repeat(1e6)}`)],
  ])('is refused when its file is %s', (_, plant) => {
    plant();
    expect(() => localSecret(file)).toThrow(
      `${file} is not a regular file with a secret of 64 hexadecimal digits. Delete it to get a new one.`,
    );
    expect(existsSync(join(folder, 'nothing'))).toBe(false);
  });

  it('is refused with its full path and a remedy when this user may not enter its folder', () => {
    chmodSync(folder, 0o755);
    chmodSync(join(folder, 'data'), 0);
    const module = JSON.stringify(pathToFileURL(join(buildFolder(), 'settings/local-secret.js')));
    const code = `import(${module}).then((it) => { ${BECOME_NOBODY} it.localSecret('data/jwt-secret'); }).catch((e) => console.log(e.message))`;
    const { stdout } = spawnSync(process.execPath, ['-e', code], { cwd: folder, encoding: 'utf8' });
    expect(stdout).toBe(
      `The local secret ${file} cannot be used: EACCES: permission denied, lstat '${file}'. Let this user read and write it and its folder, or set JWT_SECRET.\n`,
    );
    chmodSync(join(folder, 'data'), 0o700);
  });
});

function write(path: string, text: string): string {
  writeFileSync(path, text, { mode: 0o600 });
  return path;
}
