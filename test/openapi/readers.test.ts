import { spawnSync } from 'node:child_process';
import spectral, { type RulesetDefinition } from '@stoplight/spectral-core';
import rulesets from '@stoplight/spectral-rulesets';
import { describe, expect, it } from 'vitest';
import { openApi } from '../support/openapi.js';

const document = openApi();

/** Every value under a key of the given names, however deep, each once. */
function valuesOf(node: unknown, ...keys: readonly string[]): string[] {
  if (typeof node !== 'object' || node === null) return [];
  const found = Object.entries(node).flatMap(([key, value]: [string, unknown]) =>
    keys.includes(key) && typeof value === 'string' ? [value] : valuesOf(value, ...keys),
  );
  return [...new Set(found)];
}

describe('the document', () => {
  it("passes Spectral's rules without an error", async () => {
    const linter = new spectral.Spectral();
    linter.setRuleset({ extends: [rulesets.oas as RulesetDefinition] });
    const problems = await linter.run(document as unknown as Record<string, unknown>);
    const ofSeverity = (severity: number) =>
      problems.filter((each) => (each.severity as number) === severity);
    const [ERROR, WARNING] = [0, 1];
    expect(ofSeverity(ERROR)).toEqual([]);
    const warnings = ofSeverity(WARNING).map(({ code }) => String(code));
    expect([...new Set(warnings)].sort()).toEqual([
      // The project has no contact to name.
      'info-contact',
      // OpenAPI 3.1 allows scopes for every kind of token; the rule knows those of OAuth only.
      'oas3-operation-security-defined',
      // OpenAPI has no place for the answers to unknown paths and methods.
      'oas3-unused-component',
    ]);
  });

  it('speaks the language of REST', () => {
    const texts = valuesOf(document, 'description', 'summary', 'title', 'message');
    const foreign =
      /\bmetadata\b|\bAIP\b|\bg?RPC\b|\bproto(?:buf)?\b|\btrailers?\b|\bmessages?\b|\b[a-z]+_(?:at|id|only)\b/i;
    expect(texts.length).toBeGreaterThan(80);
    // The path of a violation and the facts of a failure have such names over REST, too.
    const allowed = /`route_id`/g;
    expect(texts.filter((text) => foreign.test(text.replace(allowed, '')))).toEqual([]);
  });
});

const patterns = valuesOf(document, 'pattern');
const samples = [
  ...valuesOf(document, 'method', 'path', 'handler', 'id'),
  ...Array.from(
    'aZ09/:%. -_~!"#[]^`|é😀\t\u0000\u001f\u007f\u0085\u00a0\u1680\u2000\u200a\u200b\u2028\u202f\u3000\ufeff',
  ),
  ...[
    '/a/:b',
    '/:9',
    '//',
    '/.',
    '/..',
    '/...',
    '/%4f',
    '/%4',
    '/😀',
    'a b',
    ' a',
    'a\u00a0',
    '\ufeffa',
    'a\u0085b',
  ],
  ...['😀 😀', 'é\u3000é', '12', '-1', '1.5', '1.', '"tag"', 'a\u0000b', '', 'GET', 'a/b'],
];

describe('the patterns', () => {
  const verdicts = (flags: string): boolean[][] =>
    patterns.map((pattern) => samples.map((sample) => new RegExp(pattern, flags).test(sample)));

  it('mean the same in JavaScript with and without the flag u', () => {
    expect(patterns.length).toBeGreaterThan(5);
    expect(verdicts('')).toEqual(verdicts('u'));
    const kinds = verdicts('u').map((each) => new Set(each).size);
    expect(Math.min(...kinds), 'each pattern takes some of the samples and refuses others').toBe(2);
  });

  const hasPython = spawnSync('python3', ['--version']).status === 0;
  if (!hasPython) process.emitWarning('There is no python3: what the patterns mean in Python is NOT TESTED.');

  it.runIf(hasPython)('mean the same in Python', () => {
    const program = `import json, re, sys
patterns, samples = json.load(sys.stdin)
print(json.dumps([[re.search(pattern, sample) is not None for sample in samples] for pattern in patterns]))`;
    const { stdout, stderr } = spawnSync('python3', ['-c', program], {
      input: JSON.stringify([patterns, samples]),
      encoding: 'utf8',
    });
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toEqual(verdicts('u'));
  });
});
