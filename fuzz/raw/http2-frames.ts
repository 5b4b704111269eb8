import { DATA, type Frame, HEADERS } from '../../test/support/http2-frames.js';
import { CREATE, GET } from '../grpc/grpc-case.js';
import { mutated } from '../values/mutation.js';
import type { Random } from '../values/random.js';
import type { FuzzCase, World } from '../world.js';
import { bytesOf, call, NO_BYTES, oddFrame, opening } from './frame-sequences.js';
import { http2Case } from './http2-case.js';

const PATHS = [CREATE, CREATE, GET, '/grpc.health.v1.Health/Check', '/unknown'];
const DICTIONARY = ['00', 'ff', '000000', '7fffffff', '80000000', '0000000401', '505249202a20'].map((hex) =>
  Buffer.from(hex, 'hex'),
);

/** One to four calls on one connection, with odd frames among theirs and some broken. */
export function http2Frames(random: Random, world: World): FuzzCase {
  const good = random.percent(75);
  const calls = random.pick([1, 1, 2, 4]);
  const frames = [...opening(random.pick([65_535, 65_535, 0, 1]))];
  let creates = 0;
  for (let index = 0; index < calls; index++) {
    const path = random.pick(PATHS);
    if (good && path === CREATE) creates++;
    frames.push(...call(1 + 2 * index, { path, good }, random, world));
  }
  for (let odd = random.pick([0, 1, 1, 2, 4]); odd > 0; odd--) change(frames, calls, random, world);
  const bytes = bytesOf(frames);
  const broken = random.percent(35) ? mutated(bytes, random, DICTIONARY) : bytes;
  return http2Case({ bytes: broken, ending: random.percent(95) ? 'leave' : 'cut', creates }, random, world);
}

/** Adds an odd frame, or repeats, drops, moves, splits or spoils one. */
function change(frames: Frame[], calls: number, random: Random, world: World): void {
  const at = random.below(frames.length);
  const target = frames[at];
  const to = random.below(frames.length + 1);
  if (target === undefined || random.percent(50)) {
    frames.splice(to, 0, oddFrame(calls, random, world));
    return;
  }
  switch (random.below(6)) {
    case 0:
      frames.splice(to, 0, target);
      return;
    case 1:
      frames.splice(at, 1);
      return;
    case 2:
      frames.splice(at, 1, { ...target, type: random.pick([DATA, HEADERS, random.below(12)]) });
      return;
    case 3:
      frames.splice(at, 1, { ...target, flags: target.flags ^ (1 << random.below(8)) });
      return;
    case 4:
      frames.splice(at, 1, { ...target, stream: random.pick([0, 1, 2, 5, 0x7fffffff]) });
      return;
    default: {
      const middle = random.below(target.payload.length + 1);
      const first = { ...target, flags: 0, payload: target.payload.subarray(0, middle) };
      const empty = { ...target, flags: 0, payload: NO_BYTES };
      frames.splice(at, 1, first, ...random.list(random.below(3), () => empty), {
        ...target,
        payload: target.payload.subarray(middle),
      });
    }
  }
}
