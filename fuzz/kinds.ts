import { grpcByGrammar } from './grpc/grpc-grammar.js';
import { frameFlood, rapidResets, slowReader, tooManyStreams } from './raw/floods.js';
import { http1Bytes } from './raw/http1-bytes.js';
import { http2Frames } from './raw/http2-frames.js';
import { restByGrammar } from './rest/rest-grammar.js';
import { Random } from './values/random.js';
import type { FuzzCase, Generator, World } from './world.js';

/** The kinds of cases, each with its share of ten thousand. Those that need a separate connection cost more. */
const KINDS: readonly { readonly name: string; readonly share: number; readonly generate: Generator }[] = [
  { name: 'REST by grammar', share: 2_000, generate: restByGrammar },
  { name: 'gRPC by grammar', share: 6_600, generate: grpcByGrammar },
  { name: 'HTTP/1.1 bytes', share: 700, generate: http1Bytes },
  { name: 'HTTP/2 frames', share: 500, generate: http2Frames },
  { name: 'rapid resets', share: 50, generate: rapidResets },
  { name: 'too many streams', share: 50, generate: tooManyStreams },
  { name: 'slow readers', share: 50, generate: slowReader },
  { name: 'frame floods', share: 50, generate: frameFlood },
];

/** The case of a seed with this number, and the name of its kind. */
export function caseOf(seed: number, caseNumber: number, world: World): { kind: string; fuzzCase: FuzzCase } {
  const random = new Random(seed, caseNumber);
  let left = random.below(KINDS.reduce((sum, { share }) => sum + share, 0));
  const chosen = KINDS.find(({ share }) => (left -= share) < 0);
  if (chosen === undefined) throw new Error('The shares of the kinds do not add up.');
  return { kind: chosen.name, fuzzCase: chosen.generate(random, world, caseNumber) };
}
