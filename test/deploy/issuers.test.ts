import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sourceFiles } from '../../packages/transcoder/test/support/source-imports.js';
import { readConfig } from '../../src/settings/config.js';

const ROOT = resolve(import.meta.dirname, '../..');
const PAGE = readFileSync(resolve(ROOT, 'docs/issuers.md'), 'utf8');
const SOURCES = ['auth', 'calls']
  .flatMap((folder) => sourceFiles(resolve(ROOT, 'src', folder)))
  .map((file) => readFileSync(file, 'utf8'));

/** The settings in each block of a language that sets some, by the first of them. */
function settingsIn(language: string): Record<string, string>[] {
  const blocks = [...PAGE.matchAll(new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``, 'g'))];
  const pairs = blocks.map(([, block = '']) => [...block.matchAll(/^(?:export )?(JWT_\w+)=(.*)$/gm)]);
  return pairs
    .map((found) => Object.fromEntries(found.map(([, name = '', value = '']) => [name, value])))
    .filter((settings) => 'JWT_JWKS_URL' in settings);
}

const issuers = [...settingsIn('sh'), ...settingsIn('ini')];

describe('docs/issuers.md', () => {
  it('has the settings of four issuers', () => {
    expect(issuers.map(({ JWT_ISSUER }) => new URL(JWT_ISSUER ?? '').host)).toEqual([
      'keycloak.example.com',
      'login.microsoftonline.com',
      expect.stringMatching(/\.auth0\.com$/),
      expect.stringMatching(/\.amazonaws\.com$/),
    ]);
  });

  it.each(issuers)('has settings that a service starts with: $JWT_ISSUER', (settings) => {
    const { key } = readConfig({ ...settings, DATABASE_URL: 'sqlite::memory:' }).grpc?.tokens ?? {};
    expect(key).toEqual({ kind: 'jwks', url: settings['JWT_JWKS_URL'] });
  });

  const [, table = ''] = /\n## What a refused token says\n([^]*?)\n## /.exec(PAGE) ?? [];
  const messages = [...table.matchAll(/^\| `([^`]+)` \|/gm)].map(([, message = '']) => message);

  it.each(messages)('quotes a message of the service: %s', (message) => {
    // The names of claims and scopes are interpolated.
    const parts = message.split(/(?:aud|sub|iss)(?= claim)|routes:write/);
    expect(parts.filter((part) => !SOURCES.some((source) => source.includes(part)))).toEqual([]);
  });

  it('quotes the messages of ten refusals', () => {
    expect(messages).toHaveLength(10);
  });
});
