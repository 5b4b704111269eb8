import type { World } from '../world.js';
import { word } from './hostile-text.js';
import type { Random } from './random.js';

/** Values of `authorization` that are not good; an empty list is none at all. */
export function badCredential(random: Random, { token }: World): string[] {
  const [head = '', payload = '', signature = ''] = token.split('.');
  switch (random.below(10)) {
    case 0:
      return [];
    case 1:
      return ['Bearer'];
    case 2:
      return [`Basic ${Buffer.from('user:password').toString('base64')}`];
    case 3:
      return [`Bearer ${head}.${payload}.`];
    case 4:
      return [`Bearer ${unsigned(random)}.${payload}.${random.percent(50) ? '' : signature}`];
    case 5:
      return [`Bearer ${head}.${payload}.${signature.slice(0, -2)}${word(random)}`];
    case 6:
      return [`Bearer ${token.slice(1)}`, `Bearer ${token.slice(2)}`];
    case 7:
      return [`Bearer ${'a'.repeat(random.pick([100, 8_192, 8_193, 12_000]))}`];
    case 8:
      return [`Bearer ${random.bytes(20).toString('base64url')}.${word(random)}.${word(random)}`];
    default:
      return ['Bearer \u00e9\u00ff'];
  }
}

function unsigned(random: Random): string {
  const header = {
    alg: random.pick(['none', 'None', 'NONE', '', 'HS999', 'RS256']),
    typ: 'JWT',
    crit: ['exp'],
  };
  return Buffer.from(JSON.stringify(header)).toString('base64url');
}
