import { credentials } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { unboundRules } from '../../../src/index.js';
import { describe as describeContract } from '../../../src/openapi.js';
import { reflect } from '../../../src/command/reflection.js';
import { opening } from '../../support/opening.js';
import { asRecorded, startReflecting } from '../../support/reflecting-server.js';

describe('a grpc-go server with two of its examples, health and HTTP rules', () => {
  it.each(['v1', 'v1alpha'] as const)('is served as its %s reflection describes it', async (version) => {
    const server = opening(await startReflecting({ versions: [version], reflection: asRecorded(version) }));
    const { skipped, ...contract } = await reflect(server.address, {
      credentials: credentials.createInsecure(),
    });
    expect(skipped).toEqual([]);
    expect(contract.services).toEqual([
      'compared.v1.Compared',
      'helloworld.Greeter',
      'grpc.examples.echo.Echo',
      'grpc.health.v1.Health',
    ]);
    const rules = unboundRules(contract.descriptorSet, contract.services);
    const { paths } = describeContract({ ...contract, rules, unsupported: 'skip' });
    expect(Object.keys(paths)).toEqual(
      expect.arrayContaining([
        '/v1/books/{book_name}',
        '/helloworld.Greeter/SayHello',
        '/grpc.examples.echo.Echo/ServerStreamingEcho',
        '/grpc.health.v1.Health/Check',
      ]),
    );
    expect(Object.keys(paths)).not.toContain('/compared.v1.Compared/CreateBook');
  });
});
