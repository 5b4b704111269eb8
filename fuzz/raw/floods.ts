import fc, { type Arbitrary } from 'fast-check';
import { framed } from '../../test/support/http2-call.js';
import {
  CANCEL,
  CONTINUATION,
  DATA,
  END_HEADERS,
  type Frame,
  HEADERS,
  number,
  PING,
  RST_STREAM,
  SETTINGS,
  settings,
  WINDOW_UPDATE,
} from '../../test/support/http2-frames.js';
import { CREATE, GET } from '../grpc/grpc-case.js';
import { cutting, listOf, percent, weighted } from '../values/draws.js';
import { escaped, type FuzzCase, type World } from '../world.js';
import { callsOf, headerBlock, opening } from './calls.js';
import { exchange } from './exchange.js';
import { http2Cases } from './http2-case.js';

const REFLECTION = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
/** The reflection request that lists all services. */
const LIST_SERVICES = framed(Buffer.from([0x3a, 0x00]));
const NO_BYTES = Buffer.alloc(0);

/** A frame type that only the fuzzer sends (RFC 9113, section 6.3). */
const PRIORITY = 0x2;

/** Streams that are reset as soon as they are opened (CVE-2023-44487). */
export function rapidResets(world: World): Arbitrary<FuzzCase> {
  const many = callsOf({ paths: [CREATE, GET], good: 20, count: [50, 400] }, world);
  const whole = listOf([400], fc.boolean());
  const sendings = fc.tuple(many, whole).map(([calls, isWhole]) => {
    const frames = calls.flatMap(({ headers, data }, i): Frame[] => {
      const reset = { ...headers, type: RST_STREAM, flags: 0, payload: number(CANCEL) };
      return isWhole[i] === true ? [headers, data, reset] : [headers, reset];
    });
    return { frames: [opening(), ...frames], reads: true, calls };
  });
  return http2Cases(sendings, world);
}

/** More streams than the service allows, all left open. */
export function tooManyStreams(world: World): Arbitrary<FuzzCase> {
  const many = callsOf({ paths: [CREATE, GET, REFLECTION], good: 50, count: [130, 400] }, world);
  const sendings = fc.tuple(many, fc.boolean()).map(([calls, reads]) => ({
    frames: [opening(), ...calls.map(({ headers }) => headers)],
    reads,
  }));
  return http2Cases(sendings, world);
}

/** A client that requests much and reads little: it grants no window, or does not read its socket. */
export function slowReader(world: World): Arbitrary<FuzzCase> {
  const pages = fc.constantFrom('/openapi.json', '/docs', '/healthz');
  const overRest = fc
    .tuple(pages, fc.integer({ min: 20, max: 200 }), cutting)
    .map(([path, times, cut]): FuzzCase => {
      const bytes = Buffer.from(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(times));
      return {
        shown: () => escaped(bytes),
        async send(signal) {
          await exchange({ target: world.http, pieces: cut(bytes), signal });
          return { answers: ['no answer'], problems: [] };
        },
      };
    });
  const overGrpc = fc
    .record({
      window: fc.constantFrom(0, 0, 65_535),
      times: fc.integer({ min: 10, max: 100 }),
      gets: callsOf({ paths: [GET], good: 100, count: [29, 29], first: 3 }, world),
      reads: fc.boolean(),
    })
    .map(({ window, times, gets, reads }) => {
      const reflection = headerBlock(REFLECTION, false, world);
      const headers = { type: HEADERS, flags: END_HEADERS, stream: 1, payload: reflection };
      const question = { type: DATA, flags: 0, stream: 1, payload: LIST_SERVICES };
      const rest = gets.flatMap((get) => [get.headers, get.data]);
      return { frames: [opening(window), headers, ...Array<Frame>(times).fill(question), ...rest], reads };
    });
  return weighted([40, overRest], [60, http2Cases(overGrpc, world)]);
}

const CHEAP: readonly Frame[] = [
  { type: PING, flags: 0, stream: 0, payload: Buffer.alloc(8) },
  { type: SETTINGS, flags: 0, stream: 0, payload: settings({ 4: 1 }) },
  { type: PRIORITY, flags: 0, stream: 3, payload: Buffer.from('0000000300', 'hex') },
  { type: DATA, flags: 0, stream: 1, payload: NO_BYTES },
  { type: CONTINUATION, flags: 0, stream: 1, payload: NO_BYTES },
  { type: CONTINUATION, flags: 0, stream: 1, payload: Buffer.from('000161ff', 'hex') },
  { type: RST_STREAM, flags: 0, stream: 1, payload: number(CANCEL) },
  { type: WINDOW_UPDATE, flags: 0, stream: 1, payload: number(1) },
  { type: 0xfe, flags: 0, stream: 0, payload: Buffer.alloc(100) },
];

/** Hundreds of frames of one kind that are cheap to send. */
export function frameFlood(world: World): Arbitrary<FuzzCase> {
  const sendings = fc
    .tuple(fc.constantFrom(...CHEAP), fc.integer({ min: 100, max: 2_000 }), percent(50))
    .map(([repeated, times, good]) => {
      const flags = repeated.type === CONTINUATION ? 0 : END_HEADERS;
      const headers = { type: HEADERS, flags, stream: 1, payload: headerBlock(CREATE, good, world) };
      const frames = [opening(), headers, ...Array<Frame>(times).fill(repeated)];
      return { frames, reads: true };
    });
  return http2Cases(sendings, world);
}
