import { describe, expect, it } from 'vitest';
import { readTokenRequest, USAGE } from '../../src/run/token-request.js';

const GOOD = ['--scope', 'routes:read routes:write', '--sub', 'me'];

describe('a token request', () => {
  it('is for one hour unless it has --ttl', () => {
    const asked = { scope: 'routes:read routes:write', sub: 'me' };
    expect(readTokenRequest(GOOD, {})).toEqual({ ...asked, ttlSeconds: 3_600 });
    expect(readTokenRequest([...GOOD, '--ttl=2d'], {})).toEqual({ ...asked, ttlSeconds: 172_800 });
  });

  it.each([
    ['routes:delete', '"routes:delete"'],
    ['routes:read write', '"write"'],
    ['routes:read,routes:write', '"routes:read,routes:write"'],
    ['ROUTES:READ', '"ROUTES:READ"'],
  ])('is refused for a scope that no method requires: %s', (scope, named) => {
    expect(() => readTokenRequest(['--scope', scope, '--sub', 'me'], {})).toThrow(
      `No method asks for the scope ${named}; there are routes:read and routes:write.\n${USAGE}`,
    );
  });

  it.each([[[]], [['--scope', '']], [['--scope=  ']]])('is refused without a scope: %j', (args) => {
    expect(() => readTokenRequest([...args, '--sub', 'me'], {})).toThrow(`--scope is missing.\n${USAGE}`);
  });

  it.each(['1', '0', 'zz', '0h', '1w', '-1h', '1 h'])('is refused with the lifetime %s', (ttl) => {
    expect(() => readTokenRequest([...GOOD, `--ttl=${ttl}`], {})).toThrow(
      `--ttl must be a whole number from 1 to 999999 followed by s, m, h or d, such as 1h.\n${USAGE}`,
    );
  });

  it('is refused without a subject or with a control character in the subject', () => {
    const scope = ['--scope', 'routes:read'];
    expect(() => readTokenRequest(scope, {})).toThrow(`--sub is missing.\n${USAGE}`);
    expect(() => readTokenRequest([...scope, '--sub', 'a\nb'], {})).toThrow(
      `--sub must have 1 to 255 characters, and no control characters.\n${USAGE}`,
    );
  });

  it.each(['--help', '-h'])('makes no token with %s, whatever the other options', (option) => {
    expect(readTokenRequest(['--sub', 'me', option], {})).toBeUndefined();
  });

  // What npm 10 and 11 pass on for `npm run token --scope "routes:read routes:write" --sub me --ttl 1h`, and with `=`.
  it.each([
    [
      'the names of the options',
      ['me', '1h'],
      { npm_config_scope: 'routes:read', npm_config_sub: 'true', npm_config_ttl: 'true' },
      '--scope and --sub and --ttl',
    ],
    ['all options', [], { npm_config_scope: 'routes:read', npm_config_sub: 'me' }, '--scope and --sub'],
    ['one of two options', ['--sub', 'me'], { npm_config_scope: 'routes:read' }, '--scope'],
  ])('is refused with a hint to use -- when npm has kept %s', (_, args, env, kept) => {
    expect(() => readTokenRequest(args, env)).toThrow(
      `npm has kept ${kept} for itself: write -- before them.\n${USAGE}`,
    );
  });

  it('uses the options that it has, whatever the npm configuration', () => {
    expect(readTokenRequest(GOOD, { npm_config_scope: '@mine' })).toMatchObject({ sub: 'me' });
  });
});
