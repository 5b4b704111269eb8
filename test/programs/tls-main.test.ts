import { describe, expect, it } from 'vitest';
import { createAuthority } from '../support/certificates.js';
import { MountedFiles } from '../support/mounted-files.js';
import type { Program } from '../support/process.js';
import { programsOfTest } from '../support/program-fixture.js';
import { FREE_PORTS } from '../support/service.js';
import { secureGet } from '../support/tls-client.js';

const authority = createAuthority();

function run(name: string, settings: Readonly<Record<string, string>>): Program {
  return programsOfTest().start(name, [], { ...FREE_PORTS, ...settings });
}

/** The settings of a service with a certificate. */
function tlsSettings(): Record<string, string> {
  const files = new MountedFiles({ ...authority.issue() });
  return { TLS_CERT_FILE: files.path('cert'), TLS_KEY_FILE: files.path('key') };
}

describe('the service with TLS, as its own process', () => {
  it('logs an https URL', async () => {
    const settings = tlsSettings();
    const program = run('main', settings);
    const { http } = await program.line('listening');
    expect(http).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    await expect(secureGet(`${String(http)}/healthz`, { ca: authority.cert })).resolves.toMatchObject({
      status: 200,
    });
  });

  it('exits and names the settings when the key does not match the certificate', async () => {
    const other = tlsSettings()['TLS_KEY_FILE'] ?? '';
    const { exitCode, stderr } = await run('main', { ...tlsSettings(), TLS_KEY_FILE: other }).ended;
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(
      /^The service cannot start: The files of TLS_CERT_FILE, TLS_KEY_FILE .* is not the key of/,
    );
  });
});
