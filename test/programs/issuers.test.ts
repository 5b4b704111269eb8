import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Deployment } from 'kubernetes-types/apps/v1.js';
import type { Probe } from 'kubernetes-types/core/v1.js';
import { describe, expect, it } from 'vitest';
import { createAuthority } from '../support/certificates.js';
import { freePort } from '../support/free-port.js';
import { readManifest } from '../support/kubernetes-api.js';
import { needs } from '../support/needs.js';
import { type SigningAlgorithm, startOidcIssuer } from '../support/oidc-issuer.js';
import {
  createRouteOver,
  createOver,
  getOver,
  httpUrlOf,
  programsOfTest,
} from '../support/program-fixture.js';
import { blocksOf, Reader } from '../support/readme-reader.js';
import { runningService } from '../support/running-service.js';
import { FREE_PORTS } from '../support/service.js';

const PAGE = 'docs/issuers.md';
const ROOT = resolve(import.meta.dirname, '../..');
const [, START = '', ASK = '', CALL = ''] = blocksOf(PAGE, 'sh').get('Keycloak') ?? [];
const HOST = 'https://keycloak.example.com';
const READING_MS = 120_000;

/**
 * Asks an issuer for a token with the commands of the page.
 *
 * @param replaced texts of the commands, and what they become
 * @returns the token, and what the last command prints of it
 */
async function ask(
  origin: string,
  replaced: Readonly<Record<string, string>> = {},
): Promise<{ readonly token: string; readonly shown: string }> {
  const all = Object.entries({ [HOST]: origin, ...replaced });
  const commands = all.reduce((text, [from, to]) => text.replaceAll(from, to), ASK);
  const { stdout } = await promisify(execFile)('sh', ['-euc', `${commands}\necho "$TOKEN"`]);
  const [shown = '', token = ''] = stdout.trim().split('\n');
  return { token, shown };
}

describe('docs/issuers.md', needs('curl'), () => {
  it('has the commands that are run here, those of issuers that no test can reach, and no others', () => {
    const blocks = [...blocksOf(PAGE, 'sh')].map(([heading, { length }]) => [heading, length]);
    expect(Object.fromEntries(blocks)).toEqual({
      Keycloak: 4,
      'Microsoft Entra': 1,
      Auth0: 1,
      'Amazon Cognito': 1,
      'A private authority': 1,
    });
  });

  it(
    'leads to a first authorized call with a token of the kind that Keycloak makes',
    { timeout: READING_MS },
    async () => {
      const { origin, settings } = await startOidcIssuer();
      const reader = await Reader.start({ [HOST]: origin });
      await reader.startService(START);
      const printed = await reader.pasteBlock(ASK);
      expect(JSON.parse(printed.at(-1) ?? '')).toMatchObject({
        iss: settings['JWT_ISSUER'],
        aud: 'route-registry',
        scope: 'routes:read routes:write',
      });
      expect(JSON.parse(await reader.paste(CALL))).toMatchObject({ path: '/users/:id', handler: 'getUser' });
    },
  );

  it('shows what the issuer says when it gives no token', async () => {
    const { origin } = await startOidcIssuer();
    const { shown } = await ask(origin, { 'the-secret-of-the-client': 'another' });
    expect(JSON.parse(shown)).toMatchObject({ error: 'invalid_client' });
  });

  it.each<SigningAlgorithm>(['RS256', 'ES256', 'PS256'])(
    'makes a service take tokens signed with %s from an issuer whose certificate is of a private authority',
    async (algorithm) => {
      const authority = createAuthority();
      const { origin, settings } = await startOidcIssuer({ algorithm, tls: authority.issue() });
      const programs = programsOfTest();
      const file = join(programs.folder, 'issuer-ca.pem');
      writeFileSync(file, authority.cert);
      const [own = ''] = blocksOf(PAGE, 'sh').get('A private authority') ?? [];
      const [, name = ''] = /^export (\w+)=\$PWD\/issuer-ca\.pem$/m.exec(own) ?? [];
      const url = await httpUrlOf(
        programs.start('main', [], {
          ...FREE_PORTS,
          ...settings,
          DATABASE_URL: 'sqlite:routes.db',
          [name]: file,
        }),
      );
      const { token } = await ask(origin, { 'curl -sS': `curl -sS --cacert ${file}` });
      expect(JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString())).toMatchObject({
        alg: algorithm,
      });
      const route = await createRouteOver(url, token);
      expect(await getOver(url, route.id, token)).toEqual(route);
    },
  );

  const READ = { 'routes:read routes:write': 'routes:read' };
  const JWKS = 'JWT_JWKS_URL';
  it.each<
    [what: string, (other: Readonly<Record<string, string>>) => object, Record<string, string>, string]
  >([
    [
      'of another realm',
      (other) => ({ [JWKS]: other[JWKS] }),
      {},
      "The token's kid names no key of the issuer.",
    ],
    [
      'of another issuer',
      () => ({ JWT_ISSUER: 'x' }),
      {},
      "The token's iss claim is not the expected issuer.",
    ],
    [
      'for another audience',
      () => ({ JWT_AUDIENCE: 'x' }),
      {},
      "The token's aud claim does not name this service.",
    ],
    ['without the scope', () => ({}), READ, 'The token lacks the scope routes:write.'],
    [
      'that the issuer refused',
      () => ({}),
      { 'client_id=deploy': 'client_id=nobody' },
      'The authorization was given more than once.',
    ],
  ])('has the message of a token %s', async (_, changes, replaced, message) => {
    const [{ origin, settings }, other] = [await startOidcIssuer(), await startOidcIssuer()];
    const service = await runningService({
      settings: { JWT_SECRET: '', ...settings, ...changes(other.settings) },
    });
    const response = await createOver(service.httpUrl, (await ask(origin, replaced)).token);
    expect(await response.json()).toMatchObject({ error: { message } });
    expect(readFileSync(join(ROOT, PAGE), 'utf8').includes(`\n| \`${message}\` | `)).toBe(true);
  });
});

it('a pod without its issuer is alive but not ready, and is ready once the issuer answers', async () => {
  const [container] = (readManifest('deployment.yaml') as Deployment).spec?.template.spec?.containers ?? [];
  const port = await freePort();
  const issuer = `http://127.0.0.1:${port}/realms/routes`;
  const program = programsOfTest().start('main', [], {
    ...FREE_PORTS,
    DATABASE_URL: 'sqlite:routes.db',
    JWT_JWKS_URL: `${issuer}/protocol/openid-connect/certs`,
    JWT_ISSUER: issuer,
    JWT_AUDIENCE: 'route-registry',
  });
  const { ops } = await program.line('listening');
  const statusOf = async (probe: Probe | undefined): Promise<number> =>
    (await fetch(`${String(ops)}${probe?.httpGet?.path ?? ''}`)).status;
  const probes = [container?.startupProbe, container?.livenessProbe, container?.readinessProbe];
  await program.line('waiting for the key set: the service is not ready without it');
  await expect(Promise.all(probes.map(statusOf))).resolves.toEqual([200, 200, 503]);
  await startOidcIssuer({ port });
  await expect.poll(() => statusOf(container?.readinessProbe)).toBe(200);
});
