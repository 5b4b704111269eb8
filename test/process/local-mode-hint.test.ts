import { execFile } from 'node:child_process';
import { mkdtemp, readFile, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { localModeHint, type Place, placeOfThisProcess } from '../../src/process/local-mode-hint.js';
import { Program } from '../support/process.js';

const ROOT = resolve(import.meta.dirname, '../..');
const ADDRESSES = { grpcAddress: '127.0.0.1:50051', httpUrl: 'http://127.0.0.1:8080', tls: false };
const CONTAINER: Place = { kind: 'container', name: 'c0ffee' };

describe('the hint', () => {
  it.each<[string, Place, string]>([
    ['under npm', { kind: 'folder', npm: true }, 'TOKEN=$(npm run --silent token -- --scope'],
    ['without npm', { kind: 'folder', npm: false }, 'TOKEN=$(node dist/token.js --scope'],
    ['in a container', CONTAINER, 'TOKEN=$(docker exec c0ffee node dist/token.js --scope'],
  ])('makes a token with the program beside the service, %s', (_, place, command) => {
    expect(localModeHint(ADDRESSES, place)).toContain(`\n${command}`);
  });

  it.each(['0.0.0.0', '[::]'])('has an address to connect to for a service that listens on %s', (host) => {
    const addresses = { grpcAddress: `${host}:50051`, httpUrl: `http://${host}:8080/api`, tls: false };
    const hint = localModeHint(addresses, CONTAINER);
    expect(hint).toContain(' http://localhost:8080/api/v1/routing ');
    expect(hint).toContain(' http://localhost:50051/routing.v1.RouteService/GetRoute\n');
    expect(hint).not.toContain(host);
  });

  it('of a process under npm has the commands for a folder', () => {
    expect(placeOfThisProcess({ npm_lifecycle_event: 'start' })).toEqual({ kind: 'folder', npm: true });
  });
});

/** A folder with the built programs, and a `docker` that runs commands in this folder, as in a container. */
async function folderOfPrograms(): Promise<string> {
  const folder = await mkdtemp(join(inject('temporaryFolder'), 'hint-'));
  for (const name of ['dist', 'node_modules']) await symlink(join(ROOT, name), join(folder, name));
  await writeFile(join(folder, 'docker'), '#!/bin/sh\nshift 2\nexec "$@"\n', { mode: 0o755 });
  return folder;
}

describe('the commands of the hint', () => {
  it.each<[string, Place]>([
    ['in a folder', { kind: 'folder', npm: false }],
    ['for a container', CONTAINER],
  ])('create a route and read it back over REST and gRPC, %s', async (_, place) => {
    const folder = await folderOfPrograms();
    const settings = { GRPC_ADDRESS: '127.0.0.1:0', HTTP_ADDRESS: '127.0.0.1:0' };
    const service = new Program('main', [], folder, settings);
    onTestFinished(async () => {
      await service.stop();
    });
    const { grpc, http } = await service.line('listening');
    const hint = localModeHint({ grpcAddress: String(grpc), httpUrl: String(http), tls: false }, place);
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
  });
});
