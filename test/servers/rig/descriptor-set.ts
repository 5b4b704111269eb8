import { execFile } from 'node:child_process';
import { cp } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

const ROOT = resolve(import.meta.dirname, '../../..');

/** The folder that has `google/api` and `google/rpc`. */
export const GOOGLE_FILES = join(ROOT, 'third_party/googleapis');

/** The folder that has `greeter/v1/greeter.proto`. */
export const OWN_FILES = join(ROOT, 'packages/transcoder/test/contract');

/**
 * Builds a descriptor set of proto files.
 *
 * @param folder a folder for the copies of the files, and for the set
 * @param places the files, by the names under which they are imported
 * @returns the path of the set
 */
export async function buildDescriptorSet(
  folder: string,
  places: Readonly<Record<string, string>>,
): Promise<string> {
  const proto = join(folder, 'proto');
  for (const [name, place] of Object.entries(places)) await cp(place, join(proto, name));
  const set = join(folder, 'contract.binpb');
  await run(join(ROOT, 'node_modules/.bin/buf'), ['build', proto, '-o', set]);
  return set;
}
