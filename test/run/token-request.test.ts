import { describe, expect, it } from 'vitest';
import { readTokenRequest, USAGE } from '../../src/run/token-request.js';

const GOOD = ['--scope', 'routes:read routes:write', '--sub', 'me'];

describe('a token that is asked for', () => {
  it('lasts an hour unless another time is given', () => {
    const asked = { scope: 'routes:read routes:write', sub: 'me' };
    expect(readTokenRequest(GOOD, {})).toEqual({ ...asked, ttlSeconds: 3_600 });
    expect(readTokenRequest([...GOOD, '--ttl=2d'], {})).toEqual({ ...asked, ttlSeconds: 172_800 });
  });

  it.each([
    ['routes:delete', '"routes:delete"'],
    ['routes:read write', '"write"'],
    ['routes:read,routes:write', '"routes:read,routes:write"'],
    ['ROUTES:READ', '"ROUTES:READ"'],
  ])('has no scope that no method asks for: %s', (scope, named) => {
    expect(() => readTokenRequest(['--scope', scope, '--sub', 'me'], {})).toThrow(
      `No method asks for the scope ${named}; there are routes:read and routes:write.\n${USAGE}`,
    );
  });

  it.each([[[]], [['--scope', '']], [['--scope=  ']]])('has a scope: %j', (args) => {
    expect(() => readTokenRequest([...args, '--sub', 'me'], {})).toThrow(`--scope is missing.\n${USAGE}`);
  });

  it.each(['1', '0', 'zz', '0h', '1w', '-1h', '1 h'])('does not last %s', (ttl) => {
    expect(() => readTokenRequest([...GOOD, `--ttl=${ttl}`], {})).toThrow(
      `--ttl must be a whole number from 1 to 999999 followed by s, m, h or d, such as 1h.\n${USAGE}`,
    );
  });

  it('has a subject of one line', () => {
    const scope = ['--scope', 'routes:read'];
    expect(() => readTokenRequest(scope, {})).toThrow(`--sub is missing.\n${USAGE}`);
    expect(() => readTokenRequest([...scope, '--sub', 'a\nb'], {})).toThrow(
      `--sub must have 1 to 255 characters, and no control characters.\n${USAGE}`,
    );
  });

  it.each(['--help', '-h'])('is not made with %s, whatever else is given', (option) => {
    expect(readTokenRequest(['--sub', 'me', option], {})).toBeUndefined();
  });

  // As npm 10 and 11 hand on `npm run token --scope "routes:read routes:write" --sub me --ttl 1h`, and with `=`.
  it.each([
    [
      'their names',
      ['me', '1h'],
      { npm_config_scope: 'routes:read', npm_config_sub: 'true', npm_config_ttl: 'true' },
      '--scope and --sub and --ttl',
    ],
    ['all of them', [], { npm_config_scope: 'routes:read', npm_config_sub: 'me' }, '--scope and --sub'],
    ['one of two', ['--sub', 'me'], { npm_config_scope: 'routes:read' }, '--scope'],
  ])('needs -- before its options; npm has kept %s', (_, args, env, kept) => {
    expect(() => readTokenRequest(args, env)).toThrow(
      `npm has kept ${kept} for itself: write -- before them.\n${USAGE}`,
    );
  });

  it('is made with the options that came, whatever npm is set to', () => {
    expect(readTokenRequest(GOOD, { npm_config_scope: '@mine' })).toMatchObject({ sub: 'me' });
  });
});
