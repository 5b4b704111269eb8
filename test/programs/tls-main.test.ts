import { describe, expect, it, onTestFinished } from 'vitest';
import { createAuthority } from '../support/certificates.js';
import { MountedFiles } from '../support/mounted-files.js';
import { type Program, Programs } from '../support/process.js';
import { secureGet } from '../support/tls-client.js';

const authority = createAuthority();
const stranger = createAuthority();

function run(name: string, settings: Readonly<Record<string, string>>): Program {
  const programs = new Programs();
  onTestFinished(() => programs.end());
  return programs.start(name, [], {
    GRPC_ADDRESS: '127.0.0.1:0',
    HTTP_ADDRESS: '127.0.0.1:0',
    OPS_ADDRESS: '127.0.0.1:0',
    ...settings,
  });
}

/** The settings of a service with a certificate. */
function secured(clientAuthority?: string): Record<string, string> {
  const files = new MountedFiles({ ...authority.issue(), ca: clientAuthority ?? '' });
  const pair = { TLS_CERT_FILE: files.path('cert'), TLS_KEY_FILE: files.path('key') };
  return clientAuthority === undefined ? pair : { ...pair, TLS_CLIENT_CA_FILE: files.path('ca') };
}

describe('the service with TLS, as its own process', () => {
  it('says in its log and its commands that it speaks TLS', async () => {
    const program = run('main', secured());
    const { http } = await program.line('listening');
    expect(http).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    await expect(secureGet(`${String(http)}/healthz`, { ca: authority.cert })).resolves.toMatchObject({
      status: 200,
    });
    await expect.poll(() => program.stderr).toMatch(/buf curl .* https:\/\/127\.0\.0\.1:\d+\/routing\.v1/);
    expect(program.stderr).toMatch(/curl -sS --cacert \S+ https:\/\/127\.0\.0\.1:\d+\/v1\/routing/);
    expect(program.stderr).not.toMatch(/http:|prior-knowledge/);
  });

  it('says which setting is half a pair, and ends', async () => {
    const other = secured()['TLS_KEY_FILE'] ?? '';
    const { exitCode, stderr } = await run('main', { ...secured(), TLS_KEY_FILE: other }).ended;
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(
      /^The service cannot start: The files of TLS_CERT_FILE, TLS_KEY_FILE .* is not the key of/,
    );
  });

  it.each<[string, number, Record<string, string>, string | undefined]>([
    ['REST', 0, {}, undefined],
    ['gRPC', 0, { ROLE: 'grpc' }, undefined],
    ['gRPC with authorities that signed its own certificate', 0, { ROLE: 'grpc' }, authority.cert],
    ['gRPC with authorities that did not', 1, { ROLE: 'grpc' }, stranger.cert],
  ])('over %s, has a health probe with the exit code %i', async (_, exitCode, role, clientAuthority) => {
    const settings = { ...secured(clientAuthority), ...role };
    const program = run('main', settings);
    const { grpc, http = 'https://127.0.0.1:0' } = await program.line('listening');
    const addresses = { GRPC_ADDRESS: String(grpc), HTTP_ADDRESS: new URL(String(http)).host };
    expect((await run('health-probe', { ...settings, ...addresses }).ended).exitCode).toBe(exitCode);
  });
});
