// A process that describes the contracts that it is sent, and answers with the problems of each.
import { describe } from '@route-registry/transcoder/openapi';
import { clientProblems, WITH_CLIENT } from './client-check.js';
import { DescriptionCheck } from './description-check.js';
import type { DescribedContract } from './descriptions.js';
import { zodClient } from './zod-client.js';

const check = await DescriptionCheck.create();

async function problemsOf({ name, image }: DescribedContract): Promise<string[]> {
  const options = { descriptorSet: image, unsupported: 'skip' } as const;
  const document = describe(options);
  const problems = await check.problems(document);
  if (!WITH_CLIENT.has(name)) return problems;

  // Only where the failures are known do the details of errors have a discriminator.
  const discriminating = describe({ ...options, failures: {} });
  await zodClient(discriminating).catch((error: unknown) => problems.push(`zod client: ${String(error)}`));
  return [...problems, ...(await clientProblems(document))];
}

process.on('message', (contract: DescribedContract) => {
  void problemsOf(contract)
    .catch((error: unknown) => [String(error)])
    .then((problems) => process.send?.(problems));
});
process.send?.([]);
