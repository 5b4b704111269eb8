import type { Arbitrary } from 'fast-check';
import { grpcByGrammar } from './grpc/grpc-grammar.js';
import { frameFlood, rapidResets, slowReader, tooManyStreams } from './raw/floods.js';
import { restByGrammar } from './rest/rest-grammar.js';
import { weighted } from './values/draws.js';
import type { FuzzCase, World } from './world.js';

/** The kinds of cases, each with its share of ten thousand. Cases on separate connections are slower. */
const KINDS: readonly (readonly [
  name: string,
  share: number,
  cases: (world: World) => Arbitrary<FuzzCase>,
])[] = [
  ['REST by grammar', 2_600, restByGrammar],
  ['gRPC by grammar', 7_200, grpcByGrammar],
  ['rapid resets', 50, rapidResets],
  ['too many streams', 50, tooManyStreams],
  ['slow readers', 50, slowReader],
  ['frame floods', 50, frameFlood],
];

/** A case and the name of its kind. */
interface DrawnCase {
  readonly kind: string;
  readonly fuzzCase: FuzzCase;
}

/** Cases of all kinds. */
export function casesIn(world: World): Arbitrary<DrawnCase> {
  return weighted(
    ...KINDS.map(
      ([kind, share, cases]) => [share, cases(world).map((fuzzCase) => ({ kind, fuzzCase }))] as const,
    ),
  );
}
