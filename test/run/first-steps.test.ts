import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { firstSteps } from '../../src/run/first-steps.js';
import type { TokenKey } from '../../src/settings/tokens.js';

const PLACES = { grpcAddress: '127.0.0.1:50051', httpUrl: 'http://127.0.0.1:8080/api', docs: true };

function tokens(key: TokenKey) {
  return {
    key,
    issuers: ['https://issuer.test', 'https://moved.test'],
    audiences: ['routes'],
    audienceClaim: undefined,
    scopeClaims: [],
    scopes: { read: 'routes:read', write: 'routes:write' },
  };
}

const LOCAL = tokens({ kind: 'local', file: 'data/jwt-secret' });

describe('the first steps', () => {
  it('appear in the README exactly as printed', () => {
    const readme = readFileSync(resolve(import.meta.dirname, '../../README.md'), 'utf8');
    const places = { ...PLACES, httpUrl: 'http://127.0.0.1:8080' };
    expect(readme).toContain(`\`\`\`${firstSteps(places, LOCAL, undefined).trimEnd()}\n\`\`\``);
  });

  it('name the scopes as the settings do', () => {
    const renamed = { ...LOCAL, scopes: { read: 'in', write: 'out' } };
    expect(firstSteps(PLACES, renamed, undefined)).toContain('--scope "in out" --sub me');
  });

  it('in a container make a token with docker exec', () => {
    expect(firstSteps(PLACES, LOCAL, 'c0ffee')).toContain(
      '\ntoken  export TOKEN=$(docker exec c0ffee node dist/token.js --scope ',
    );
  });

  it.each<[string, TokenKey, string]>([
    ['a secret', { kind: 'secret', secret: 's' }, 'with the same settings:  export TOKEN=$(npm run '],
    [
      'a file of secrets',
      { kind: 'secretFile', file: 'f' },
      'with the same settings:  export TOKEN=$(npm run ',
    ],
    [
      'a public key',
      { kind: 'publicKeyFile', file: 'f' },
      'from https://issuer.test or https://moved.test\n',
    ],
    [
      'a key set',
      { kind: 'jwks', url: 'https://issuer.test/keys' },
      'from https://issuer.test or https://moved.test\n',
    ],
  ])('with %s say how to get a token', (_, key, line) => {
    expect(firstSteps(PLACES, tokens(key), undefined)).toContain(`\ntoken  ${line}`);
  });

  it.each(['0.0.0.0', '[::]'])('show localhost for a service that listens on %s', (host) => {
    const places = { grpcAddress: `${host}:50051`, httpUrl: `https://${host}:8080`, docs: true };
    expect(firstSteps(places, LOCAL, undefined)).toMatch(
      /^\ngRPC {3}localhost:50051\nREST {3}https:\/\/localhost:8080\ndocs {3}https:\/\/localhost:8080\/docs\n/,
    );
  });

  it('list only the servers that run', () => {
    const gateway = { ...PLACES, grpcAddress: undefined, docs: false };
    expect(firstSteps(gateway, undefined, undefined)).toBe('\nREST   http://127.0.0.1:8080/api\n\n');
    const server = { ...PLACES, httpUrl: undefined };
    expect(firstSteps(server, LOCAL, undefined)).toMatch(/^\ngRPC .*\ntoken .*\n\n$/);
  });
});
