import { createFileRegistry, fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';
import { comments } from '../../src/gen/comments.js';
import { descriptorSet } from '../../src/gen/descriptor-set.js';
import { DEFAULT_SCOPES, requiredScopes } from '../../src/grpc/route-service.js';

const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, descriptorSet));
const service = registry.getService('routing.v1.RouteService');
if (service === undefined) throw new Error('The contract has no service.');

/** The full names of a type and its members. */
function namesIn({ typeName }: { readonly typeName: string }, members: readonly { readonly name: string }[]) {
  return [typeName, ...members.map(({ name }) => `${typeName}.${name}`)];
}

describe('the comments of the contract', () => {
  const scopes = Object.entries(requiredScopes(DEFAULT_SCOPES));

  it.each(scopes)('say that %s needs the scope %s and no other scope', (localName, scope) => {
    const named = service.methods
      .filter((each) => each.localName === localName)
      .map(({ name }) => comments[`${service.typeName}.${name}`] ?? '')
      .flatMap((text) => [...text.matchAll(/[Nn]eeds the scope `([^`]+)`/g)]);
    expect(named.map(([, name]) => name)).toEqual([scope]);
  });

  it('are generated for every element of the contract', () => {
    const { messages, enums } = service.file;
    const names = [
      ...namesIn(service, service.methods),
      ...messages.flatMap((each) => namesIn(each, each.fields)),
      ...enums.flatMap((each) => namesIn(each, each.values)),
    ];
    expect(Object.keys(comments).sort()).toEqual(['routing.v1', ...names].sort());
  });
});
