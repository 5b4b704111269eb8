import fc, { type Arbitrary } from 'fast-check';
import { DATA, type Frame, HEADERS } from '../../test/support/http2-frames.js';
import { CREATE, GET } from '../grpc/grpc-case.js';
import { at, listOf, place, weighted, words } from '../values/draws.js';
import { mutation } from '../values/mutation.js';
import type { FuzzCase, World } from '../world.js';
import type { Ending } from './exchange.js';
import { type Call, callsOf, oddFrame, opening } from './frame-sequences.js';
import { http2Cases } from './http2-case.js';

const PATHS = [CREATE, CREATE, GET, '/grpc.health.v1.Health/Check', '/unknown'];
const DICTIONARY = words('00 ff 000000 7fffffff 80000000 0000000401 505249202a20').map((hex) =>
  Buffer.from(hex, 'hex'),
);

/** One to four calls on one connection, with odd frames between theirs, and some frames corrupted. */
export function http2Frames(world: World): Arbitrary<FuzzCase> {
  const calls = (good: number): Arbitrary<Call[]> => callsOf({ paths: PATHS, good, count: [1, 4] }, world);
  const sendings = fc
    .record({
      window: fc.constantFrom(65_535, 65_535, 0, 1),
      calls: weighted([75, calls(100)], [25, calls(0)]),
      changes: listOf([0, 1, 1, 2, 4], frameChange(world)),
      spoil: weighted([65, fc.constant((bytes: Buffer) => bytes)], [35, mutation(DICTIONARY)]),
      ending: weighted<Ending>([95, fc.constant('leave')], [5, fc.constant('cut')]),
    })
    .map(({ window, calls: drawn, changes, spoil, ending }) => {
      const sound = [opening(window), ...drawn.flatMap(({ headers, data }) => [headers, data])];
      const frames = changes.reduce((changed, change) => change(changed), sound);
      return { frames, spoil, ending, calls: drawn };
    });
  return http2Cases(sendings, world);
}

/** Adds an odd frame, or repeats, drops, splits or corrupts one. */
function frameChange(world: World): Arbitrary<(frames: readonly Frame[]) => Frame[]> {
  const instead = fc.oneof<Arbitrary<(frame: Frame) => Frame[]>[]>(
    fc.constant(() => []),
    fc.oneof(fc.constantFrom(DATA, HEADERS), fc.nat(11)).map((type) => (frame) => [{ ...frame, type }]),
    fc.nat(7).map((bit) => (frame) => [{ ...frame, flags: frame.flags ^ (1 << bit) }]),
    fc.constantFrom(0, 1, 2, 5, 0x7fffffff).map((stream) => (frame) => [{ ...frame, stream }]),
    fc.tuple(place, fc.nat(2)).map(([drawn, empty]) => (frame) => {
      const middle = at(drawn, frame.payload.length + 1);
      const first = { ...frame, flags: 0, payload: frame.payload.subarray(0, middle) };
      const nothing = Array<Frame>(empty).fill({ ...frame, flags: 0, payload: Buffer.alloc(0) });
      return [first, ...nothing, { ...frame, payload: frame.payload.subarray(middle) }];
    }),
  );
  const added = fc.tuple(place, oddFrame(world)).map(
    ([to, frame]) =>
      (frames: readonly Frame[]) =>
        frames.toSpliced(at(to, frames.length + 1), 0, frame),
  );
  const repeated = fc.tuple(place, place).map(([from, to]) => (frames: readonly Frame[]) => {
    const target = frames.slice(at(from, frames.length)).slice(0, 1);
    return frames.toSpliced(at(to, frames.length + 1), 0, ...target);
  });
  const replaced = fc.tuple(place, instead).map(([drawn, change]) => (frames: readonly Frame[]) => {
    const target = at(drawn, frames.length);
    return frames.flatMap((frame, i) => (i === target ? change(frame) : [frame]));
  });
  return weighted([6, added], [1, repeated], [5, replaced]);
}
