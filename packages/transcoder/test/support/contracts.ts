import { execFile } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';

const require = createRequire(import.meta.url);
const contract = resolve(import.meta.dirname, '../contract');
/** The root of buf's paths: a folder above both the contract and the published files. */
const root = resolve(import.meta.dirname, '../../../..');
const workspace = {
  version: 'v2',
  modules: [{ path: relative(root, contract) }, { path: 'third_party/googleapis' }],
};
const errorDetails = ['ErrorInfo', 'BadRequest', 'RequestInfo'].map((name) => `google.rpc.${name}`);
const ofTypes = (...names: string[]): string[] => names.flatMap((name) => ['--type', name]);
const ofPath = (name: string): string[] => ['--path', relative(root, join(contract, name))];

/** What `buf build` is told for each contract, all of which have their imports. */
const CONTRACTS: Readonly<Record<string, readonly string[]>> = {
  library: ofTypes('library.v1', 'google.api.HttpBody', 'google.rpc.Status', ...errorDetails),
  branch: ofPath('branch'),
  'branch-unmarked': [...ofPath('branch'), '--as-file-descriptor-set'],
  compared: ofTypes('compared.v1', 'google.rpc.ErrorInfo'),
  feed: ofTypes('feed.v1', 'google.rpc.ErrorInfo'),
  greeter: ofTypes('greeter.v1'),
  shop: ofPath('shop'),
  legacy: ofTypes('legacy.v1'),
  names: ofTypes('names.v1'),
};

/** Builds the contracts of the tests in a folder of this one. Returns its path. */
export async function buildContracts(parent: string): Promise<string> {
  const folder = mkdtempSync(join(parent, 'contracts-'));
  const buf = join(dirname(require.resolve('@bufbuild/buf/package.json')), 'bin/buf');
  await Promise.all(
    Object.entries(CONTRACTS).map(([name, filters]) => {
      const output = join(folder, `${name}.binpb`);
      const args = ['build', '.', '--config', JSON.stringify(workspace), ...filters, '-o', output];
      return promisify(execFile)(buf, args, { cwd: root });
    }),
  );
  return folder;
}
