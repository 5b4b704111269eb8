import { execFile } from 'node:child_process';
import { mkdtemp, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, inject, it, onTestFinished } from 'vitest';
import { requireBuild } from '../support/build-folder.js';
import { Program } from '../support/process.js';
import { createOver, getOver } from '../support/program-fixture.js';
import { FREE_PORTS, SERVICE_SETTINGS } from '../support/service.js';

const ROOT = resolve(import.meta.dirname, '../..');
/** The variable that `npm start` sets. */
const UNDER_NPM = { npm_lifecycle_event: 'start' };

/** A folder in which `npm run token` and `docker exec` run the built program. */
async function folderOfPrograms(): Promise<string> {
  requireBuild('service');
  const folder = await mkdtemp(join(inject('temporaryFolder'), 'first-steps-'));
  for (const name of ['dist', 'node_modules']) await symlink(join(ROOT, name), join(folder, name));
  await writeFile(join(folder, 'package.json'), '{"type":"module","scripts":{"token":"node dist/token.js"}}');
  await writeFile(join(folder, 'docker'), '#!/bin/sh\nshift 2\nexec "$@"\n', { mode: 0o755 });
  return folder;
}

function start(folder: string, settings: Readonly<Record<string, string>>): Program {
  const service = new Program('main', [], folder, { ...FREE_PORTS, OPS_ADDRESS: 'off', ...settings });
  onTestFinished(async () => {
    await service.stop();
  });
  return service;
}

it.each([
  ['in a folder', UNDER_NPM],
  // Outside a container, the service prints the commands for a folder here as well.
  ['in a container', {}],
])('the first steps that the service prints %s lead to a route', async (_, settings) => {
  const folder = await folderOfPrograms();
  const service = start(folder, settings);
  const line = await service.line('listening');
  const [grpc, http] = [String(line['grpc']), String(line['http'])];
  await expect.poll(() => service.stderr).toMatch(/^token {2}/m);
  const [grpcLine, restLine, docsLine, tokenLine = '', ...rest] = service.stderr.trim().split('\n');
  expect([grpcLine, restLine, docsLine]).toEqual([`gRPC   ${grpc}`, `REST   ${http}`, `docs   ${http}/docs`]);
  expect(rest).toEqual([]);
  expect((await fetch(`${http}/docs`)).status).toBe(200);

  const command = tokenLine.replace('token  ', '');
  const env = { PATH: [folder, process.env['PATH']].join(':'), HOME: folder };
  const { stdout, stderr } = await promisify(execFile)('sh', ['-euc', `${command}\necho $TOKEN`], {
    cwd: folder,
    env,
  });
  expect(stderr).toBe('Signed with the local secret, data/jwt-secret, since JWT_SECRET is not set.\n');
  const route = (await (await createOver(http, stdout.trim())).json()) as { id: string };
  expect(await getOver(http, route.id, stdout.trim())).toEqual(route);
});

it('a service with its own secret prints the first steps under npm and nothing to stderr otherwise', async () => {
  const folder = await folderOfPrograms();
  const service = start(folder, { ...SERVICE_SETTINGS, DATABASE_URL: 'sqlite::memory:', ...UNDER_NPM });
  await service.line('listening');
  await expect
    .poll(() => service.stderr)
    .toContain('\ntoken  with the same settings:  export TOKEN=$(npm run ');

  const alone = start(folder, { ...SERVICE_SETTINGS, DATABASE_URL: 'sqlite::memory:' });
  await alone.line('listening');
  expect((await alone.stop()).stderr).toBe('');
});
