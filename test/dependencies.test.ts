import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

/** The first versions without the named vulnerabilities. Remove the entry of a package that is no longer installed. */
const FLOORS: readonly (readonly [name: string, floor: string, vulnerabilities: string])[] = [
  [
    '@grpc/grpc-js',
    '1.14.5',
    'CVE-2026-48068, 48069: malformed calls end the process; CVE-2026-101915, 101916: errors disclosed, certificates not checked',
  ],
  ['jws', '4.0.1', 'CVE-2025-65945: unverified HMAC signatures'],
  ['jsonwebtoken', '9.0.0', 'CVE-2022-23539, 23540, 23541: weak keys, missing algorithm, key confusion'],
  ['mysql2', '3.23.1', 'among others CVE-2024-21508: code execution through what a server sends'],
  ['knex', '2.4.0', 'CVE-2016-20018: SQL conditions from objects and arrays on MySQL'],
  [
    'protobufjs',
    '7.6.5',
    'CVE-2026-59877: an endless loop in options; CVE-2026-41242: code execution through descriptors',
  ],
  ['express', '5.0.0', 'CVE-2024-43796: XSS in a redirect'],
  ['body-parser', '2.2.1', 'CVE-2025-13466: form bodies that are slow to parse'],
  ['qs', '6.16.0', 'CVE-2026-2391, GHSA-4mjr-xmp4-gh2g, GHSA-x5fp-wj9c-mxmx: bypassed limits'],
  ['path-to-regexp', '8.4.0', 'CVE-2026-4926: patterns that take exponential time'],
  ['send', '1.1.0', 'CVE-2024-43799: XSS in a redirect'],
  ['serve-static', '2.1.0', 'CVE-2024-43800: XSS in a redirect'],
  ['cookie', '0.7.0', 'CVE-2024-47764: names and values that set other fields'],
  ['lodash', '4.18.0', 'CVE-2026-4800: code injection in templates; CVE-2025-13465: prototype pollution'],
  ['swagger-ui-dist', '5.32.7', 'CVE-2026-41238, 41239, 41240: XSS past its DOMPurify'],
];

const ROOT = resolve(import.meta.dirname, '..');

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly allowScripts?: Readonly<Record<string, boolean>>;
}

interface Locked {
  readonly version?: string;
  readonly name?: string;
  readonly hasInstallScript?: boolean;
}

interface Lockfile {
  readonly packages: Readonly<Record<string, Locked>>;
}

function read(path: string): unknown {
  return JSON.parse(readFileSync(resolve(ROOT, path), 'utf8'));
}

const { packages } = read('package-lock.json') as Lockfile;
/** The path, name and version of every installed package, including nested copies. */
const installed = Object.entries(packages).map(([path, { name = path
      .split('node_modules/')
      .at(-1), version = '', hasInstallScript = false }]) => ({ path, name, version, hasInstallScript }));

/** Whether a version is the floor or a later one; a pre-release counts as earlier than its release. */
function isAtLeast(version: string, floor: string): boolean {
  const [release = '', preRelease] = version.split('-');
  const order = release.localeCompare(floor, 'en', { numeric: true });
  return order > 0 || (order === 0 && preRelease === undefined);
}

describe('every installed copy', () => {
  it.each(FLOORS)('of %s is at least version %s (%s)', (name, floor) => {
    const copies = installed.filter((each) => each.name === name);
    expect(copies).not.toEqual([]);
    expect(copies.filter(({ version }) => !isAtLeast(version, floor))).toEqual([]);
  });
});

describe.each(readdirSync(resolve(ROOT, 'packages')))('packages/%s', (name) => {
  const { dependencies = {}, peerDependencies = {} } = read(`packages/${name}/package.json`) as Manifest;
  const wanted = Object.entries({ ...dependencies, ...peerDependencies });

  it('shares its dependencies with the project that installs it: they are ranges', () => {
    expect(wanted).not.toEqual([]);
    expect(wanted.filter(([, range]) => !/^\^\d+\.\d+\.\d+$/.test(range))).toEqual([]);
  });

  it('admits no version of them with a known vulnerability', () => {
    const floors = new Map(FLOORS.map(([dependency, floor]) => [dependency, floor]));
    const bad = wanted.filter(
      ([dependency, range]) => !isAtLeast(range.slice(1), floors.get(dependency) ?? '0'),
    );
    expect(bad).toEqual([]);
  });
});

it('no package runs a script when it is installed', () => {
  const scripted = installed.filter(({ hasInstallScript }) => hasInstallScript);
  const { allowScripts = {} } = read('package.json') as Manifest;
  expect(scripted).not.toEqual([]);
  expect(allowScripts).toEqual(Object.fromEntries(scripted.map((each) => [each.name, false])));
});
