import { openApi } from '../support/openapi.js';

/** The distinct string values under keys with these names, at any depth. */
export function valuesOf(node: unknown, ...keys: readonly string[]): string[] {
  if (typeof node !== 'object' || node === null) return [];
  const found = Object.entries(node).flatMap(([key, value]: [string, unknown]) =>
    keys.includes(key) && typeof value === 'string' ? [value] : valuesOf(value, ...keys),
  );
  return [...new Set(found)];
}

const document = openApi();

/** The regular expressions of the OpenAPI document. */
export const patterns = valuesOf(document, 'pattern');
/** Strings of which each pattern matches some and not others. */
export const samples = [
  ...valuesOf(document, 'method', 'path', 'handler', 'id'),
  ...Array.from(
    'aZ09/:%. -_~!"#[]^`|é😀\t\u0000\u001f\u007f\u0085\u00a0\u1680\u2000\u200a\u200b\u2028\u202f\u3000\ufeff',
  ),
  ...[
    '/a/:b',
    '/:9',
    '//',
    '/.',
    '/..',
    '/...',
    '/%4f',
    '/%4',
    '/😀',
    'a b',
    ' a',
    'a\u00a0',
    '\ufeffa',
    'a\u0085b',
  ],
  ...['😀 😀', 'é\u3000é', '12', '-1', '1.5', '1.', '"tag"', 'a\u0000b', '', 'GET', 'a/b'],
  'Origin, Authorization',
];

/** Whether each pattern matches each sample, in JavaScript with these flags. */
export function verdicts(flags: string): boolean[][] {
  return patterns.map((pattern) => samples.map((sample) => new RegExp(pattern, flags).test(sample)));
}
