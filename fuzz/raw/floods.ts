import {
  DATA,
  END_HEADERS,
  type Frame,
  HEADERS,
  number,
  PING,
  RST_STREAM,
  SETTINGS,
  settings,
} from '../../test/support/http2-frames.js';
import { CREATE, GET } from '../grpc/grpc-case.js';
import { framed } from '../../test/support/http2-call.js';
import { restCase } from '../rest/rest-case.js';
import type { Random } from '../values/random.js';
import type { FuzzCase, World } from '../world.js';
import { bytesOf, call, CONTINUATION, headerBlock, NO_BYTES, opening, PRIORITY } from './frame-sequences.js';
import { http2Case } from './http2-case.js';

const CANCEL = 0x8;
const REFLECTION = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
/** Asks reflection for all services. */
const LIST_SERVICES = framed(Buffer.from([0x3a, 0x00]));

/** Streams that are reset as soon as they are opened (CVE-2023-44487). */
export function rapidResets(random: Random, world: World): FuzzCase {
  const frames = opening();
  let creates = 0;
  for (let stream = 1; stream < 2 * random.between(50, 400); stream += 2) {
    const head = { path: random.pick([CREATE, GET]), good: random.percent(20) };
    if (head.good && head.path === CREATE) creates++;
    const [headers, data] = call(stream, head, random, world);
    if (headers !== undefined) frames.push(headers);
    if (data !== undefined && random.percent(50)) frames.push(data);
    frames.push({ type: RST_STREAM, flags: 0, stream, payload: number(CANCEL) });
  }
  return http2Case({ bytes: bytesOf(frames), ending: 'leave', creates }, random, world);
}

/** More streams than the service allows, all left open. */
export function tooManyStreams(random: Random, world: World): FuzzCase {
  const frames = opening();
  for (let stream = 1; stream < 2 * random.between(130, 400); stream += 2) {
    const head = { path: random.pick([CREATE, GET, REFLECTION]), good: random.percent(50) };
    frames.push({ type: HEADERS, flags: END_HEADERS, stream, payload: headerBlock(head, world) });
  }
  const ending = random.pick(['leave', 'unread'] as const);
  return http2Case({ bytes: bytesOf(frames), ending, creates: 0 }, random, world);
}

/** A client that asks for much and takes nothing: no window, or a socket that it does not read. */
export function slowReader(random: Random, world: World): FuzzCase {
  if (random.percent(40)) {
    const get = `GET ${random.pick(['/openapi.json', '/docs', '/healthz'])} HTTP/1.1\r\nHost: x\r\n\r\n`;
    const bytes = Buffer.from(get.repeat(random.between(20, 200)));
    return restCase({ bytes, ending: 'unread', quietMs: 0 }, random, world);
  }
  const frames = opening(random.pick([0, 0, 65_535]));
  frames.push({
    type: HEADERS,
    flags: END_HEADERS,
    stream: 1,
    payload: headerBlock({ path: REFLECTION, good: false }, world),
  });
  frames.push(
    ...random.list(random.between(10, 100), () => ({
      type: DATA,
      flags: 0,
      stream: 1,
      payload: LIST_SERVICES,
    })),
  );
  for (let stream = 3; stream < 60; stream += 2)
    frames.push(...call(stream, { path: GET, good: true }, random, world));
  const ending = random.pick(['leave', 'unread'] as const);
  return http2Case({ bytes: bytesOf(frames), ending, creates: 0 }, random, world);
}

/** Hundreds of frames of one kind that cost the sender nothing. */
export function frameFlood(random: Random, world: World): FuzzCase {
  const times = random.between(100, 2_000);
  const repeated = random.pick<Frame>([
    { type: PING, flags: 0, stream: 0, payload: Buffer.alloc(8) },
    { type: SETTINGS, flags: 0, stream: 0, payload: settings({ 4: 1 }) },
    { type: PRIORITY, flags: 0, stream: 3, payload: Buffer.from('0000000300', 'hex') },
    { type: DATA, flags: 0, stream: 1, payload: NO_BYTES },
    { type: CONTINUATION, flags: 0, stream: 1, payload: NO_BYTES },
    { type: CONTINUATION, flags: 0, stream: 1, payload: Buffer.from('000161ff', 'hex') },
    { type: RST_STREAM, flags: 0, stream: 1, payload: number(CANCEL) },
    { type: 0x8, flags: 0, stream: 1, payload: number(1) },
    { type: 0xfe, flags: 0, stream: 0, payload: Buffer.alloc(100) },
  ]);
  const head = { path: CREATE, good: random.percent(50) };
  const flags = repeated.type === CONTINUATION ? 0 : END_HEADERS;
  const headers = { type: HEADERS, flags, stream: 1, payload: headerBlock(head, world) };
  const flood = Array.from({ length: times }, () => repeated);
  return http2Case(
    { bytes: bytesOf([...opening(), headers, ...flood]), ending: 'leave', creates: 0 },
    random,
    world,
  );
}
