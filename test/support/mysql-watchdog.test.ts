import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, inject, it } from 'vitest';
import { watch } from './mysql-watchdog.js';

const PROGRAM = fileURLToPath(new URL('mysql-watchdog.mjs', import.meta.url));

const newFolder = () => mkdtemp(join(inject('temporaryFolder'), 'watchdog-'));
const gone = { code: 'ENOENT' };

describe('a watchdog', () => {
  it('runs its commands one after another until one fails, and returns their output', async () => {
    const folder = await newFolder();
    const watchdog = watch({
      commands: [
        ['sh', '-c', 'echo first'],
        ['sh', '-c', 'echo "no $WHAT left" >&2; exit 3'],
        ['sh', '-c', 'echo never'],
      ],
      afterwards: [['rm', '-rf', folder]],
      env: { WHAT: 'space' },
    });
    expect(await watchdog.ended).toBe('first\nno space left\nsh ended with 3\n');
    await expect(access(folder)).rejects.toMatchObject(gone);
  });

  it('kills its command with all children, and cleans up when SIGKILL ends its parent', async () => {
    const folder = await newFolder();
    const work = {
      commands: [['sh', '-c', 'echo ready; sleep 600; true']],
      afterwards: [['rm', '-rf', folder]],
    };
    const start = `require('node:child_process').spawn(process.execPath, process.argv.slice(1), {
        detached: true, stdio: ['pipe', 'inherit', 'inherit'] })`;
    const parent = spawn(process.execPath, ['-e', start, PROGRAM, JSON.stringify(work)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(parent.stdout, 'data');
    parent.kill('SIGKILL');
    // The pipe ends when the last process that holds it is gone: the parent, the watchdog, sh and sleep.
    await once(parent.stdout.resume(), 'end');
    await expect(access(folder)).rejects.toMatchObject(gone);
  });
});
