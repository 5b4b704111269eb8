import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sourceFiles } from '../../packages/transcoder/test/support/source-imports.js';
import { readConfig } from '../../src/settings/config.js';

const ROOT = resolve(import.meta.dirname, '../..');
const PAGE = readFileSync(resolve(ROOT, 'docs/issuers.md'), 'utf8');
/** The files of the code that refuses tokens: for what they are, and for what they do not allow. */
const SOURCES = ['auth', 'calls']
  .flatMap((folder) => sourceFiles(resolve(ROOT, 'src', folder)))
  .map((file) => readFileSync(file, 'utf8'));

/** The settings of tokens in each block of code in this language that sets the URL of an issuer's keys. */
function settingsIn(language: string): Record<string, string>[] {
  const blocks = PAGE.matchAll(new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``, 'g'));
  return [...blocks]
    .map(([, block = '']) => {
      const lines = block.matchAll(/^(?:export )?(JWT_\w+)=(.*)$/gm);
      return Object.fromEntries([...lines].map(([, name = '', value = '']) => [name, value]));
    })
    .filter((settings) => 'JWT_JWKS_URL' in settings);
}

/** Keycloak's settings are commands for a shell, and those of all others are lines for a file of settings. */
const issuers = [...settingsIn('sh'), ...settingsIn('ini')];

/** The messages in the first column of the table of refusals. */
const [, refusals = ''] = /\n## What a refused token says\n([^]*?)\n## /.exec(PAGE) ?? [];
const messages = [...refusals.matchAll(/^\| `([^`]+)` \|/gm)].map(([, message = '']) => message);

/** Matches a message in code, where an expression may stand in place of the name of a claim or scope. */
function patternOf(message: string): RegExp {
  const literal = message.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const names = /\b(?:aud|sub|iss)\b(?= claim)|routes:write/g;
  return new RegExp(literal.replace(names, (name) => `(?:${name}|\\$\\{\\w+\\})`));
}

describe('docs/issuers.md', () => {
  it('has the settings of four issuers', () => {
    expect(issuers.map(({ JWT_ISSUER }) => new URL(JWT_ISSUER ?? '').host)).toEqual([
      'keycloak.example.com',
      'login.microsoftonline.com',
      expect.stringMatching(/\.auth0\.com$/),
      expect.stringMatching(/\.amazonaws\.com$/),
    ]);
  });

  it.each(issuers)('has settings that `readConfig` accepts: $JWT_ISSUER', (settings) => {
    const { key } = readConfig({ ...settings, DATABASE_URL: 'sqlite::memory:' }).grpc?.tokens ?? {};
    expect(key).toEqual({ kind: 'jwks', url: settings['JWT_JWKS_URL'] });
  });

  it.each(messages)('quotes a message of the service: %s', (message) => {
    expect(SOURCES.filter((source) => patternOf(message).test(source))).not.toEqual([]);
  });

  it('quotes the messages of ten refusals', () => {
    expect(messages).toHaveLength(10);
  });
});
