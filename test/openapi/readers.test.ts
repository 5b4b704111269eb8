import spectral, { type RulesetDefinition } from '@stoplight/spectral-core';
import rulesets from '@stoplight/spectral-rulesets';
import { describe, expect, it } from 'vitest';
import { openApi } from '../support/openapi.js';
import { patterns, valuesOf, verdicts } from './patterns.js';

const document = openApi();

describe('the OpenAPI document', () => {
  it("passes Spectral's rules without errors", async () => {
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
      // OpenAPI 3.1 allows scopes for every kind of token; the rule knows only OAuth scopes.
      'oas3-operation-security-defined',
      // OpenAPI has no place for the responses to unknown paths and methods.
      'oas3-unused-component',
    ]);
  });

  it('uses no terms of gRPC or protobuf', () => {
    const texts = valuesOf(document, 'description', 'summary', 'title', 'message');
    const foreign =
      /\bmetadata\b|\bAIP\b|\bg?RPC\b|\bproto(?:buf)?\b|\btrailers?\b|\bmessages?\b|\b[a-z]+_(?:at|id|only)\b/i;
    expect(texts.length).toBeGreaterThan(80);
    // Field violations and error metadata use such names over REST as well.
    const allowed = /`route_id`/g;
    expect(texts.filter((text) => foreign.test(text.replace(allowed, '')))).toEqual([]);
  });
});

describe('the patterns of the OpenAPI document', () => {
  it('match the same strings in JavaScript with and without the u flag', () => {
    expect(patterns.length).toBeGreaterThan(5);
    expect(verdicts('')).toEqual(verdicts('u'));
    const kinds = verdicts('u').map((each) => new Set(each).size);
    expect(Math.min(...kinds), 'each pattern matches some samples and not others').toBe(2);
  });
});
