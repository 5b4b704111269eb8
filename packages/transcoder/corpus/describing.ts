// A process that describes the contracts that it is sent, and answers with the problems of each.
import { describe } from '@route-registry/transcoder/openapi';
import { clientProblems, WITH_CLIENT } from './client-check.js';
import { DescriptionCheck } from './description-check.js';
import type { DescribedContract } from './descriptions.js';
import { zodClient } from './zod-client.js';

/** One contract, since errors are the same in each, and openapi-zod-client takes minutes for the largest. */
const WITH_ZOD_CLIENT = 'google.example.library.v1';

const check = await DescriptionCheck.create();

async function problemsOf({ name, image }: DescribedContract): Promise<string[]> {
  const options = { descriptorSet: image, unsupported: 'skip' } as const;
  const document = describe(options);
  const problems = await check.problems(document);
  if (WITH_CLIENT.has(name)) problems.push(...(await clientProblems(document)));
  if (name === WITH_ZOD_CLIENT) {
    // Only where the failures are known do the details of errors have a discriminator.
    const discriminating = describe({ ...options, failures: {} });
    await zodClient(discriminating).catch((error: unknown) => problems.push(`zod client: ${String(error)}`));
  }
  return problems;
}

process.on('message', (contract: DescribedContract) => {
  void problemsOf(contract)
    .catch((error: unknown) => [String(error)])
    .then((problems) => process.send?.(problems));
});
process.send?.([]);
