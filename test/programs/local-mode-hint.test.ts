import { execFile } from 'node:child_process';
import { mkdtemp, readFile, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { localModeHint, type Place, placeOfThisProcess } from '../../src/process/local-mode-hint.js';
import type { TlsFiles } from '../../src/process/followed-tls.js';
import { built } from '../support/built.js';
import { createAuthority } from '../support/certificates.js';
import { FREE_PORTS } from '../support/program-fixture.js';
import { Program } from '../support/process.js';

const ROOT = resolve(import.meta.dirname, '../..');
const CONTAINER: Place = { kind: 'container', name: 'c0ffee' };

/** A folder with the built programs, and a `docker` that runs commands in this folder, as in a container. */
async function folderOfPrograms(): Promise<string> {
  built();
  const folder = await mkdtemp(join(inject('temporaryFolder'), 'hint-'));
  for (const name of ['dist', 'node_modules']) await symlink(join(ROOT, name), join(folder, name));
  await writeFile(join(folder, 'docker'), '#!/bin/sh\nshift 2\nexec "$@"\n', { mode: 0o755 });
  return folder;
}

/** A folder with a certificate for loopback, its key, and one of a client that `ca.crt` has signed. */
async function withCertificates(folder: string): Promise<void> {
  const authority = createAuthority();
  const [own, client] = [authority.issue(), authority.issue()];
  const files = {
    "it's own.crt": own.cert,
    'own.key': own.key,
    'ca.crt': authority.cert,
    'client.crt': client.cert,
    'client.key': client.key,
  };
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
}

const WITH_TLS = { certFile: "it's own.crt", keyFile: 'own.key', caFile: undefined };

describe('the commands of the hint', () => {
  // Each form of a place and of an address is in one of them.
  it.each<[string, Place, TlsFiles | undefined]>([
    ['in a folder', { kind: 'folder', npm: false }, undefined],
    ['for a container, with TLS', CONTAINER, WITH_TLS],
    [
      'in a folder, for clients with certificates',
      { kind: 'folder', npm: false },
      { ...WITH_TLS, caFile: 'ca.crt' },
    ],
  ])('create a route and read it back over REST and gRPC, %s', async (_, place, tls) => {
    const folder = await folderOfPrograms();
    await withCertificates(folder);
    const { certFile = '', keyFile = '', caFile = '' } = tls ?? {};
    const settings = {
      ...FREE_PORTS,
      OPS_ADDRESS: 'off',
      TLS_CERT_FILE: certFile,
      TLS_KEY_FILE: keyFile,
      TLS_CLIENT_CA_FILE: caFile,
    };
    const service = new Program('main', [], folder, settings);
    onTestFinished(async () => {
      await service.stop();
    });
    const { grpc, http } = await service.line('listening');
    const addresses = { grpcAddress: String(grpc), httpUrl: String(http), tls };
    await expect.poll(() => service.stderr).toBe(localModeHint(addresses, placeOfThisProcess({})));
    const hint = localModeHint(addresses, place);
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
