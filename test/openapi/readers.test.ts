import spectral, { type RulesetDefinition } from '@stoplight/spectral-core';
import rulesets from '@stoplight/spectral-rulesets';
import { describe, expect, it } from 'vitest';
import { openApi } from '../support/openapi.js';
import { patterns, valuesOf, verdicts } from './patterns.js';

const document = openApi();

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

describe('the patterns', () => {
  it('mean the same in JavaScript with and without the flag u', () => {
    expect(patterns.length).toBeGreaterThan(5);
    expect(verdicts('')).toEqual(verdicts('u'));
    const kinds = verdicts('u').map((each) => new Set(each).size);
    expect(Math.min(...kinds), 'each pattern takes some of the samples and refuses others').toBe(2);
  });
});
