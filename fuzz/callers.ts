import fc, { type Arbitrary } from 'fast-check';
import { bytesOf, listOf, weighted, words } from './draws.js';
import { hostileText, word } from './hostile-text.js';

/** The handler of the routes that clients without a valid token try to create. */
export const FORBIDDEN = 'forbidden';

/** The fields of a route that a client sets, all of the right type. */
export interface RouteDraft {
  readonly method: string;
  readonly path: string;
  readonly middleware: readonly string[];
  readonly handler: string;
}

/** A client and the route that it tries to create. */
interface Caller {
  /** The values of the `authorization` headers; empty for no header. */
  readonly credentials: readonly string[];
  readonly draft: RouteDraft;
}

const METHODS = words("GET POST PUT PATCH DELETE QUERY M-SEARCH a!#$%&'*+.^`|~");
const NAMES = ['authenticate', '認証', '👩‍👩‍👧', 'a b', '__proto__', 'a\ufeffb', '%00', '"'];

const segment = weighted(
  [85, word],
  [15, fc.constantFrom(...words("... %2F %e4 a\\:b a::b @ !$&'()*+,;= a(?:b|c) x{/y}[z] ab?cd *"))],
);
const name = fc.constantFrom(...NAMES);
const parameter = fc
  .tuple(
    fc.nat(8),
    fc.constantFrom('', '', '', '?', '.json', String.raw`(\d+)`, '{[a-z]+}?', '<int>', '(.*)*'),
  )
  .map(([number, more]) => `:p${number}${more}`);
const path = fc
  .tuple(
    fc.array(segment, { maxLength: 4 }),
    fc.uniqueArray(parameter, { maxLength: 2, selector: (text) => text.slice(0, 3) }),
  )
  .map(([segments, parameters]) => `/${[...segments, ...parameters].join('/')}`);

/** A valid route. */
export const validDraft: Arbitrary<RouteDraft> = fc.record(
  {
    method: fc.constantFrom(...METHODS),
    path,
    middleware: listOf([0, 0, 1, 2, 3, 64], name),
    handler: weighted([90, word], [10, name]),
  },
  { noNullPrototype: true },
);

const hostileNames = listOf([1, 2, 5, 64, 65, 300], weighted([90, word], [10, hostileText]));
const hostileFields = fc.record(
  { method: hostileText, path: hostileText, middleware: hostileNames, handler: hostileText },
  { requiredKeys: [] },
);

/** A route, in half of the cases with hostile values in some of its fields. */
export const routeDraft: Arbitrary<RouteDraft> = weighted(
  [50, validDraft],
  [50, fc.tuple(validDraft, hostileFields).map(([draft, hostile]) => ({ ...draft, ...hostile }))],
);

/**
 * A caller: one with a valid token and any draft, or one with bad credentials.
 *
 * @param share the percentage of callers with a valid token
 */
export function callerWith(token: string, share: number): Arbitrary<Caller> {
  return weighted<Caller>(
    [share, routeDraft.map((draft) => ({ credentials: [`Bearer ${token}`], draft }))],
    [100 - share, fc.record({ credentials: badCredentials(token), draft: strangeDraft })],
  );
}

const strangeDraft = validDraft.map((draft) => ({ ...draft, handler: FORBIDDEN }));
const unsigned = fc
  .tuple(
    fc.constantFrom('none', 'None', 'NONE', '', 'HS999', 'RS256'),
    fc.constantFrom({}, { crit: ['exp'] }),
  )
  .map(([alg, more]) => Buffer.from(JSON.stringify({ alg, typ: 'JWT', ...more })).toString('base64url'));

function badCredentials(token: string): Arbitrary<string[]> {
  const [head = '', payload = '', signature = ''] = token.split('.');
  const values = fc.oneof(
    fc.constantFrom(
      'Bearer',
      'Basic dXNlcjpwYXNzd29yZA==',
      `Bearer ${head}.${payload}.`,
      'Bearer \u00e9\u00ff',
    ),
    fc
      .tuple(unsigned, fc.constantFrom('', signature))
      .map(([alg, sign]) => `Bearer ${alg}.${payload}.${sign}`),
    word.map((end) => `Bearer ${head}.${payload}.${signature.slice(0, -2)}${end}`),
    fc.constantFrom(100, 8_192, 8_193, 12_000).map((length) => `Bearer ${'a'.repeat(length)}`),
    fc.tuple(bytesOf(20), word).map(([bytes, end]) => `Bearer ${bytes.toString('base64url')}.${end}.${end}`),
  );
  return weighted(
    [1, fc.constantFrom([], [`Bearer ${token.slice(1)}`, `Bearer ${token.slice(2)}`])],
    [4, values.map((value) => [value])],
  );
}
