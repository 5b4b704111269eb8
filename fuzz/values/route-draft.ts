import { hostileText, word } from './hostile-text.js';
import type { Random } from './random.js';

/** The fields of a route that a client gives, all of the right type. */
export interface RouteDraft {
  method: string;
  path: string;
  middleware: string[];
  handler: string;
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'QUERY', 'M-SEARCH', "a!#$%&'*+.^`|~"];
const FIELDS = ['method', 'path', 'middleware', 'handler'] as const;
const NAMES = ['authenticate', '認証', '👩‍👩‍👧', 'a b', '__proto__', 'a\ufeffb', '%00', '"'];

/** A route that keeps the contract. */
export function validDraft(random: Random): RouteDraft {
  const segments = random.list(random.below(5), () => segment(random));
  const parameters = [...new Set(random.list(random.below(3), () => `:p${random.below(9)}`))];
  return {
    method: random.pick(METHODS),
    path: `/${[...segments, ...parameters].join('/')}`,
    middleware: random.list(random.pick([0, 0, 1, 2, 3, 64]), () => random.pick(NAMES)),
    handler: random.percent(90) ? word(random) : random.pick(NAMES),
  };
}

/** A route of which up to three fields are anything; half of all routes are valid. */
export function routeDraft(random: Random): RouteDraft {
  const draft = validDraft(random);
  if (random.percent(50)) return draft;
  for (let spoilt = random.between(1, 3); spoilt > 0; spoilt--) spoil(draft, random);
  return draft;
}

function spoil(draft: RouteDraft, random: Random): void {
  const field = random.pick(FIELDS);
  if (field !== 'middleware') draft[field] = hostileText(random);
  else draft.middleware = random.list(random.pick([1, 2, 5, 64, 65, 300]), () => hostileName(random));
}

function hostileName(random: Random): string {
  return random.percent(90) ? word(random) : hostileText(random);
}

function segment(random: Random): string {
  return random.percent(85) ? word(random) : random.pick(['...', '%2F', '%e4', 'a:b', '@', "!$&'()*+,;="]);
}
