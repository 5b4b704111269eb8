import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { expect, inject, it, onTestFinished } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');

/**
 * Stops what watches the files, its parent, so that this learns only later which of them the program has read, as on a busy
 * machine. The test wakes it.
 */
const MAIN = `
  process.kill(process.ppid, 'SIGSTOP');
  const { version } = await import('./version.js');
  console.log('up ' + version);
  setInterval(() => undefined, 60_000);
`;

/** A folder with a service that prints its version. */
function folderOfService(): string {
  const folder = mkdtempSync(join(inject('temporaryFolder'), 'dev-'));
  for (const name of ['scripts', 'src', 'packages/transcoder/src'])
    mkdirSync(join(folder, name), { recursive: true });
  copyFileSync(join(ROOT, 'scripts/dev.sh'), join(folder, 'scripts/dev.sh'));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(join(folder, 'src/token.ts'), "console.log('a-token');");
  writeFileSync(join(folder, 'src/version.ts'), 'export const version = 1;');
  writeFileSync(join(folder, 'src/main.ts'), MAIN);
  return folder;
}

it('npm run dev prints a token, and starts again after an edit in the very moment it is up', async () => {
  const folder = folderOfService();
  const PATH = [join(ROOT, 'node_modules/.bin'), process.env['PATH']].join(delimiter);
  // The script replaces itself by what watches the files, which is therefore `dev`.
  const dev = spawn(join(folder, 'scripts/dev.sh'), { cwd: folder, env: { ...process.env, PATH } });
  const closed = once(dev, 'close');
  onTestFinished(async () => {
    dev.kill();
    dev.kill('SIGCONT');
    await closed;
  });
  let printed = '';
  dev.stdout.on('data', (data: Buffer) => (printed += data.toString()));
  await expect.poll(() => printed).toBe('TOKEN=a-token\nup 1\n');
  writeFileSync(join(folder, 'src/version.ts'), 'export const version = 2;');
  dev.kill('SIGCONT');
  await expect.poll(() => printed).toMatch(/up 2\n$/);
});
