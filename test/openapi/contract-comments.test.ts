import { createFileRegistry, fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';
import { comments } from '../../src/gen/comments.js';
import { descriptorSet } from '../../src/gen/descriptor-set.js';
import { FAILURES } from '../../src/calls/failures.js';
import { DEFAULT_SCOPES, requiredScopes } from '../../src/grpc/route-service.js';
import { PATH_MAX } from '../../src/registry/path-pattern.js';
import { CLIENT_ID_MAX } from '../../src/registry/registry.js';
import { METHOD_MAX, MIDDLEWARE_MAX, NAME_MAX } from '../../src/registry/route.js';

const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, descriptorSet));
const service = registry.getService('routing.v1.RouteService');
if (service === undefined) throw new Error('The contract has no service.');

/** The reasons of calls that are not of the service: of unknown methods, health, reflection and auth-only calls. */
const OF_OTHER_CALLS = ['PATH_UNKNOWN', 'SERVICE_UNKNOWN', 'UNSUPPORTED', 'GUARD_PASSED'];

/** The full names of a type and its members. */
function namesIn({ typeName }: { readonly typeName: string }, members: readonly { readonly name: string }[]) {
  return [typeName, ...members.map(({ name }) => `${typeName}.${name}`)];
}

describe('the comments of the contract', () => {
  const scopes = Object.entries(requiredScopes(DEFAULT_SCOPES));

  it.each(scopes)('say that %s needs the scope %s and no other scope', (localName, scope) => {
    const named = service.methods
      .filter((described) => described.localName === localName)
      .map(({ name }) => comments[`${service.typeName}.${name}`] ?? '')
      .flatMap((text) => [...text.matchAll(/[Nn]eeds the scope `([^`]+)`/g)]);
    expect(named.map(([, name]) => name)).toEqual([scope]);
  });

  it('name every failure of the service', () => {
    const names = namesIn(service, service.methods);
    const text = names.map((name) => comments[name] ?? '').join(' ');
    const reasons = Object.keys(FAILURES).filter((reason) => !OF_OTHER_CALLS.includes(reason));
    expect(reasons.filter((reason) => !text.includes(`\`${reason}\``))).toEqual([]);
  });

  it.each([
    ['Route.method', `1 to ${METHOD_MAX} characters`],
    ['Route.path', `1 to ${PATH_MAX} visible ASCII characters`],
    ['Route.middleware', `0 to ${MIDDLEWARE_MAX} names of 1 to ${NAME_MAX} characters`],
    ['Route.handler', `1 to ${NAME_MAX} characters`],
    ['CreateRouteRequest.request_id', `1 to ${CLIENT_ID_MAX} visible ASCII characters`],
  ])('say the bounds that the registry has: %s', (field, bounds) => {
    expect(comments[`routing.v1.${field}`]).toContain(bounds);
  });

  it('are generated for every element of the contract', () => {
    const { messages, enums } = service.file;
    const names = [
      ...namesIn(service, service.methods),
      ...messages.flatMap((message) => namesIn(message, message.fields)),
      ...enums.flatMap((type) => namesIn(type, type.values)),
    ];
    expect(Object.keys(comments).sort()).toEqual(['routing.v1', ...names].sort());
  });
});
