import { execFile } from 'node:child_process';
import { mkdtemp, readFile, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, inject, it, onTestFinished } from 'vitest';
import { containerOfThisProcess, localModeHint } from '../../src/run/local-mode-hint.js';
import { built } from '../support/built.js';
import { Program } from '../support/process.js';
import { FREE_PORTS } from '../support/service.js';

const ROOT = resolve(import.meta.dirname, '../..');

/** A folder with the built programs, and a `docker` that runs commands in this folder, as in a container. */
async function folderOfPrograms(): Promise<string> {
  built();
  const folder = await mkdtemp(join(inject('temporaryFolder'), 'hint-'));
  for (const name of ['dist', 'node_modules']) await symlink(join(ROOT, name), join(folder, name));
  await writeFile(join(folder, 'package.json'), '{"type":"module","scripts":{"token":"node dist/token.js"}}');
  await writeFile(join(folder, 'docker'), '#!/bin/sh\nshift 2\nexec "$@"\n', { mode: 0o755 });
  return folder;
}

it.each([
  ['in a folder', undefined],
  ['for a container', 'c0ffee'],
])(
  'the commands of the hint create a route and read it back over REST and gRPC, %s',
  async (_, container) => {
    const folder = await folderOfPrograms();
    const service = new Program('main', [], folder, { ...FREE_PORTS, OPS_ADDRESS: 'off' });
    onTestFinished(async () => {
      await service.stop();
    });
    const { grpc, http } = await service.line('listening');
    const addresses = { grpcAddress: String(grpc), httpUrl: String(http) };
    await expect.poll(() => service.stderr).toBe(localModeHint(addresses, containerOfThisProcess({})));
    const hint = localModeHint(addresses, container);
    const commands = hint.slice(hint.indexOf(':\n') + 1);
    const PATH = [folder, join(folder, 'node_modules/.bin'), process.env['PATH']].join(':');
    const env = { PATH, HOME: folder };
    // `tee /dev/stderr` needs a file or a terminal there, not a socket.
    const args = ['-euc', `exec 2>>created\n${commands}`];
    const { stdout } = await promisify(execFile)('sh', args, { cwd: folder, env });
    const created = await readFile(join(folder, 'created'), 'utf8');
    const ids = [...(created + stdout).matchAll(/"id": ?"([^"]+)"/g)].map(([, id]) => id);
    expect(ids).toHaveLength(3);
    expect(new Set(ids).size).toBe(1);
  },
);
