import { readFileSync } from 'node:fs';
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

interface Lockfile {
  readonly packages: Readonly<Record<string, { readonly version?: string; readonly name?: string }>>;
}

const text = readFileSync(resolve(import.meta.dirname, '../package-lock.json'), 'utf8');
/** The path, name and version of every installed package, including nested copies. */
const installed = Object.entries((JSON.parse(text) as Lockfile).packages).map(([path, { name = path
      .split('node_modules/')
      .at(-1), version = '' }]) => ({ path, name, version }));

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
