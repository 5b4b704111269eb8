import { describe, expect, it } from 'vitest';
import { unboundRules } from '../../src/index.js';
import { readContract } from '../../src/template/contract.js';
import { branchImage, greeterDescriptorSet, withRule } from '../support/library-contract.js';

describe('the rules for methods without an HTTP rule', () => {
  it('bind POST to the path of the gRPC call, with the message as the body', () => {
    const rules = ['Wave', 'Applaud', 'Chat'].map((name) => ({
      selector: `greeter.v1.Greeter.${name}`,
      post: `/greeter.v1.Greeter/${name}`,
      body: '*',
    }));
    expect(unboundRules(greeterDescriptorSet)).toEqual(rules);
  });

  it('keep the rule of a method that cannot be served, so that a transcoder says why', () => {
    const selector = 'library.v1.Unsupported.HoldBody';
    const twice = { pattern: { case: 'get', value: '/**/a/**' } } as const;
    const more = { pattern: { case: 'get', value: '/**/b/**' } } as const;
    const set = withRule('HoldBody', { ...twice, additionalBindings: [more] });
    const rules = unboundRules(set, ['library.v1.Unsupported']).filter((rule) => rule.selector === selector);
    const post = '/library.v1.Unsupported/HoldBody';
    expect(rules).toEqual([
      { get: '/**/a/**', selector, additionalBindings: [{ get: '/**/b/**' }, { post, body: '*' }] },
    ]);
    const { bindings, skipped } = readContract(set, { rules, unsupported: 'skip' });
    expect(
      bindings.filter(({ callPath }) => callPath === post).map(({ template }) => template.source),
    ).toEqual([post]);
    expect(skipped.join()).toContain('the path template "/**/a/**" has "**" twice');
  });

  it('are for a method whose requests are those of an earlier one, and not for one with a binding that is served', () => {
    const selectors = (get: string, other: string) =>
      unboundRules(
        withRule('HoldBody', {
          pattern: { case: 'get', value: get },
          additionalBindings: [{ pattern: { case: 'get', value: other } }],
        }),
        ['library.v1.Library', 'library.v1.Unsupported'],
      ).map((rule) => rule.selector);
    const taken = '/v1/shelves/{content.content_type}';
    expect(selectors(taken, taken)).toContain('library.v1.Unsupported.HoldBody');
    expect(selectors(taken, '/v1/held')).not.toContain('library.v1.Unsupported.HoldBody');
  });

  it('are for the named services, or else for the served ones', () => {
    const selectors = (services?: string[]) =>
      unboundRules(branchImage, services).map((rule) => rule.selector);
    expect(selectors()).toEqual(['branch.v1.Counter.Lend']);
    expect(selectors(['branch.v1.Branch'])).toEqual([]);
    expect(selectors(['library.v1.Unsupported'])).toContain('library.v1.Unsupported.Upload');
    expect(() => unboundRules(greeterDescriptorSet, ['greeter.v1.Other'])).toThrow(
      'The contract has no service "greeter.v1.Other".',
    );
  });
});
