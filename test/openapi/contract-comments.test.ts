import { createFileRegistry, fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';
import { comments as generated } from '../../src/gen/comments.js';
import { descriptorSet } from '../../src/gen/descriptor-set.js';
import { SCOPES } from '../../src/routes/route-service.js';
import { ContractComments } from '../../src/openapi/contract-comments.js';

const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, descriptorSet));
const service = registry.getService('routing.v1.RouteService');
const [method] = service?.methods ?? [];
if (service === undefined || method === undefined) throw new Error('The contract has no methods.');

describe('the comments of the contract', () => {
  const comments = new ContractComments({
    'routing.v1': 'A registry\nof routes.',
    'routing.v1.RouteService':
      'Stores routes.\n\nErrors of every method: `UNAUTHENTICATED` (`TOKEN_MISSING`).',
    'routing.v1.RouteService.CreateRoute':
      'Stores a v1.2 route\nand returns it. Needs the scope `routes:write`.\n\nFurther error: `ROUTE_EXISTS`.',
  });

  it('are Markdown paragraphs of one line each', () => {
    expect(comments.ofPackage('routing.v1')).toBe('A registry of routes.');
    expect(comments.text(method)).toBe(
      'Stores a v1.2 route and returns it. Needs the scope `routes:write`.\n\nFurther error: `ROUTE_EXISTS`.',
    );
  });

  it('give their first sentence as the summary, and the rest as the description', () => {
    expect(comments.summary(method)).toBe('Stores a v1.2 route and returns it');
    expect(comments.description(method)).toBe(
      'Needs the scope `routes:write`.\n\nFurther error: `ROUTE_EXISTS`.',
    );
  });

  it("name the reasons of a method's own failures", () => {
    expect([...comments.reasons(method)]).toEqual(['ROUTE_EXISTS']);
  });

  it('speak of fields, headers and rules as REST clients know them', () => {
    const spoken = new ContractComments({
      'routing.v1': 'Takes `request_id` (AIP-155), or\nthe metadata\n`idempotency-key`; `NOT_FOUND` without.',
    });
    expect(spoken.ofPackage('routing.v1')).toBe(
      'Takes `requestId`, or the header `idempotency-key`; `NOT_FOUND` without.',
    );
  });

  it('are empty where there is none', () => {
    const none = new ContractComments({});
    expect([none.text(method), none.summary(method), none.description(method)]).toEqual(['', '', '']);
  });

  it.each(Object.entries(SCOPES))(
    'say of %s that it needs the scope %s, and no other',
    (localName, scope) => {
      const described = new ContractComments(generated);
      const named = service.methods
        .filter((each) => each.localName === localName)
        .flatMap((each) => [...described.text(each).matchAll(/[Nn]eeds the scope `([^`]+)`/g)]);
      expect(named.map(([, name]) => name)).toEqual([scope]);
    },
  );

  it('are generated for every element of the contract', () => {
    const messages = ['Route', 'CreateRouteRequest', 'GetRouteRequest'].map((name) => `routing.v1.${name}`);
    const fields = messages.flatMap((name) =>
      (registry.getMessage(name)?.fields ?? []).map((field) => `${name}.${field.name}`),
    );
    const methods = service.methods.map(({ name }) => `${service.typeName}.${name}`);
    expect(Object.keys(generated).sort()).toEqual(
      ['routing.v1', service.typeName, ...methods, ...messages, ...fields].sort(),
    );
  });
});
