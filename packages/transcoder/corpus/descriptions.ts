import { fork } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';

/** A contract to describe. */
export interface DescribedContract {
  readonly name: string;
  readonly image: Uint8Array;
}

const PROGRAM = join(import.meta.dirname, 'describing.ts');

/**
 * Describes contracts in as many processes as there are cores, and checks the documents and some clients.
 *
 * @returns a line for each problem
 */
export async function descriptionProblems(contracts: Iterable<() => DescribedContract>): Promise<string[]> {
  const left = contracts[Symbol.iterator]();
  const problems: string[] = [];
  const work = async (): Promise<void> => {
    const child = fork(PROGRAM, { serialization: 'advanced' });
    await once(child, 'message');
    for (let next = left.next(); next.done !== true; next = left.next()) {
      const contract = next.value();
      child.send(contract);
      const [found] = (await once(child, 'message')) as [string[]];
      problems.push(...found.map((problem) => `${contract.name}: ${problem}`));
    }
    child.kill();
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  return problems;
}
