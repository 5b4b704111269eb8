import { describe, expect, it } from 'vitest';
import { unboundRules } from '../../src/index.js';
import { branchImage, greeterDescriptorSet } from '../support/library-contract.js';

describe('the rules for methods without an HTTP rule', () => {
  it('bind POST to the path of the gRPC call, with the message as the body', () => {
    const rules = ['Wave', 'Applaud', 'Chat'].map((name) => ({
      selector: `greeter.v1.Greeter.${name}`,
      post: `/greeter.v1.Greeter/${name}`,
      body: '*',
    }));
    expect(unboundRules(greeterDescriptorSet)).toEqual(rules);
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
