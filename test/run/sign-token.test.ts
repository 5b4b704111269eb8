import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import jwt from 'jsonwebtoken';
import { expect, inject, it } from 'vitest';
import { signToken } from '../../src/run/sign-token.js';

const SECRET = 'x'.repeat(32);
const PARTIES = { JWT_ISSUER: 'i', JWT_AUDIENCE: 'a' };
const SETTINGS = { JWT_SECRET: SECRET, ...PARTIES };
const GOOD = ['--scope', 'routes:read routes:write', '--sub', 'me'];
const USAGE = 'Usage: npm run --silent token -- --scope "routes:read routes:write" --sub NAME [--ttl 1h]\n';

/** Runs the program to its end. */
function end(args: readonly string[], settings: Readonly<Record<string, string>> = SETTINGS) {
  let [stdout, stderr] = ['', ''];
  const exitCode = signToken(args, settings, {
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: (text) => (stderr += text) },
  });
  return { exitCode, stdout, stderr };
}

it.each([
  [[], 3_600],
  [['--ttl=2d'], 172_800],
])('the token lives for an hour unless there is --ttl: %j', (ttl, seconds) => {
  const { exitCode, stdout, stderr } = end([...GOOD, ...ttl]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: 'Signed with JWT_SECRET.\n' });
  const claims = jwt.verify(stdout.trim(), SECRET, { issuer: 'i', audience: 'a' }) as jwt.JwtPayload;
  expect(claims).toMatchObject({ scope: 'routes:read routes:write', sub: 'me' });
  expect((claims.exp ?? 0) - (claims.iat ?? 0)).toBe(seconds);
});

it('the first secret in JWT_SECRET_FILE signs', () => {
  const file = join(mkdtempSync(join(inject('temporaryFolder'), 'secrets-')), 'secrets');
  writeFileSync(file, `${SECRET}\n${'y'.repeat(32)}\n`);
  const { stdout, stderr } = end(GOOD, { JWT_SECRET_FILE: file, ...PARTIES });
  expect(stderr).toBe(`Signed with the first secret in JWT_SECRET_FILE, ${file}.\n`);
  expect(jwt.verify(stdout.trim(), SECRET)).toMatchObject({ sub: 'me' });
});

it.each<[string, Record<string, string>, object]>([
  ['the first claim of JWT_SCOPE_CLAIMS', { JWT_SCOPE_CLAIMS: 'roles,scope' }, { roles: 'in out' }],
  ['a claim inside objects', { JWT_SCOPE_CLAIMS: '/a/b~1c' }, { a: { 'b/c': 'in out' } }],
  ['the first audience', { JWT_AUDIENCE: 'one,two' }, { scope: 'in out', aud: 'one' }],
  ['the first issuer', { JWT_ISSUER: 'one,two' }, { scope: 'in out', iss: 'one' }],
])('the token has renamed scopes, and %s', (_, settings, expected) => {
  const scopes = { JWT_READ_SCOPE: 'in', JWT_WRITE_SCOPE: 'out' };
  const args = ['--scope', 'in out', '--sub', 'me'];
  const { stdout } = end(args, { ...SETTINGS, ...scopes, ...settings });
  expect(jwt.verify(stdout.trim(), SECRET)).toMatchObject(expected);
});

it('the usage and the refusals name renamed scopes', () => {
  const scopes = { JWT_READ_SCOPE: 'in', JWT_WRITE_SCOPE: 'out' };
  const usage = USAGE.replace('routes:read routes:write', 'in out');
  expect(end(['--help'], scopes).stdout).toBe(usage);
  const { stderr } = end(GOOD, { ...SETTINGS, ...scopes });
  expect(stderr).toBe(`No method asks for the scope "routes:read"; there are in and out.\n${usage}`);
});

it('there is no token when only the issuer holds the signing key', () => {
  const { exitCode, stdout, stderr } = end(GOOD, {
    JWT_JWKS_URL: 'http://127.0.0.1/keys',
    ...PARTIES,
  });
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
  expect(stderr).toContain('only with JWT_SECRET');
});

it.each(['--help', '-h'])('%s prints the usage, whatever the other options', (option) => {
  const ended = end(['--sub', 'me', option]);
  expect(ended).toEqual({ exitCode: 0, stdout: USAGE, stderr: '' });
});

const ALLOWED = 'there are routes:read and routes:write.';
const TTL = '--ttl must be a whole number from 1 to 999999 followed by s, m, h or d, such as 1h.';

it.each<[string, string[], string]>([
  ['a scope that no method requires', ['--scope', 'routes:read write'], `the scope "write"; ${ALLOWED}`],
  ['a comma', ['--scope', 'routes:read,routes:write'], `"routes:read,routes:write"; ${ALLOWED}`],
  ['upper case', ['--scope', 'ROUTES:READ'], `"ROUTES:READ"; ${ALLOWED}`],
  ['no scope', ['--scope', '  '], '--scope is missing.'],
  ['no subject', ['--scope', 'routes:read'], '--sub is missing.'],
  [
    'a control character in the subject',
    ['--scope', 'routes:read', '--sub', 'a\nb'],
    '--sub must have 1 to 255 characters, and no control characters.',
  ],
  ...['1', 'zz', '0h', '1w', '-1h', '1 h'].map((ttl): [string, string[], string] => [
    `the lifetime ${ttl}`,
    [...GOOD, `--ttl=${ttl}`],
    TTL,
  ]),
])('there is no token for %s', (_, args, problem) => {
  const { exitCode, stdout, stderr } = end(args);
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
  expect(stderr.endsWith(`${problem}\n${USAGE}`)).toBe(true);
});

// What npm 10 and 11 pass on for `npm run token --scope "routes:read routes:write" --sub me --ttl 1h`, and with `=`.
it.each<[string, string[], Record<string, string>, string]>([
  [
    'the names of the options',
    ['me', '1h'],
    { npm_config_scope: 'routes:read', npm_config_sub: 'true', npm_config_ttl: 'true' },
    '--scope and --sub and --ttl',
  ],
  ['all options', [], { npm_config_scope: 'routes:read', npm_config_sub: 'me' }, '--scope and --sub'],
  [
    'one of two options, not the other, which npm has read, too',
    ['--sub=me'],
    { npm_config_scope: 'routes:read', npm_config_sub: 'me' },
    '--scope',
  ],
])('there is a hint to use -- when npm has kept %s', (_, args, env, kept) => {
  const { stderr } = end(args, { ...SETTINGS, ...env });
  expect(stderr).toBe(`npm has kept ${kept} for itself: write -- before them.\n${USAGE}`);
});

it('the npm configuration does not matter for options that are there', () => {
  const { exitCode } = end(GOOD, { ...SETTINGS, npm_config_scope: '@mine' });
  expect(exitCode).toBe(0);
});
