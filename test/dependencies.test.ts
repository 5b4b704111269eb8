import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

/** The first versions without the named vulnerabilities, of what the packages need. */
const FLOORS: Readonly<Record<string, string>> = {
  // CVE-2026-48068, 48069: malformed calls end the process; CVE-2026-101915, 101916: errors disclosed, certificates not checked.
  '@grpc/grpc-js': '1.14.5',
  // CVE-2026-41238, 41239, 41240: XSS past its DOMPurify.
  'swagger-ui-dist': '5.32.7',
};

const ROOT = resolve(import.meta.dirname, '..');

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly allowScripts?: Readonly<Record<string, boolean>>;
}

interface Lockfile {
  readonly packages: Readonly<
    Record<string, { readonly name?: string; readonly hasInstallScript?: boolean }>
  >;
}

function read(path: string): unknown {
  return JSON.parse(readFileSync(resolve(ROOT, path), 'utf8'));
}

describe.each(readdirSync(resolve(ROOT, 'packages')))('packages/%s', (name) => {
  const { dependencies = {}, peerDependencies = {} } = read(`packages/${name}/package.json`) as Manifest;
  const wanted = Object.entries({ ...dependencies, ...peerDependencies });

  it('shares its dependencies with the project that installs it: they are ranges', () => {
    expect(wanted).not.toEqual([]);
    expect(wanted.filter(([, range]) => !/^\^\d+\.\d+\.\d+$/.test(range))).toEqual([]);
  });

  it('admits no version of them with a known vulnerability', () => {
    const isBelow = (version: string, floor = '0'): boolean =>
      version.localeCompare(floor, 'en', { numeric: true }) < 0;
    expect(wanted.filter(([dependency, range]) => isBelow(range.slice(1), FLOORS[dependency]))).toEqual([]);
  });
});

it('no package runs a script when it is installed', () => {
  const { packages } = read('package-lock.json') as Lockfile;
  const scripted = Object.entries(packages)
    .filter(([, { hasInstallScript = false }]) => hasInstallScript)
    .map(([path, { name = path.split('node_modules/').at(-1) ?? '' }]) => name);
  expect(scripted).not.toEqual([]);
  const { allowScripts = {} } = read('package.json') as Manifest;
  expect(allowScripts).toEqual(Object.fromEntries(scripted.map((name) => [name, false])));
});
