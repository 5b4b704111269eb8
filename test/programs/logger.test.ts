import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { buildFolder } from '../support/build-folder.js';
import { programsOfTest } from '../support/program-fixture.js';
import { FREE_PORTS } from '../support/service.js';

const SETTINGS = { ...FREE_PORTS, DATABASE_URL: 'sqlite::memory:' };

it('the service logs human-readable lines at a terminal', async () => {
  const main = join(buildFolder(), 'main.js');
  const command = `exec "${process.execPath}" "${main}"`;
  const env = { ...SETTINGS, PATH: process.env['PATH'], TERM: 'xterm' };
  const terminal = spawn('script', ['-qec', command, '/dev/null'], { cwd: programsOfTest().folder, env });
  let text = '';
  terminal.stdout.on('data', (data: Buffer) => (text += data.toString()));
  await expect.poll(() => text).toMatch(/INFO.*listening/);
  // Ctrl-C, as typed at the terminal.
  terminal.stdin.write('\u0003');
  await once(terminal, 'close');
  expect(text).toMatch(/INFO.*stopped[^\n]*\n/);
});
