import { deflateSync, gzipSync } from 'node:zlib';
import { framed } from '../../test/support/http2-call.js';
import { STRANGER } from '../ledger.js';
import { badCredential } from '../values/credential.js';
import { hostileText, word } from '../values/hostile-text.js';
import type { Random } from '../values/random.js';
import { routeDraft, validDraft } from '../values/route-draft.js';
import type { FuzzCase, World } from '../world.js';
import { CREATE, GET, grpcCase } from './grpc-case.js';
import { oddMetadata } from './odd-metadata.js';
import { createMessage, getMessage, oddMessage } from './wire-messages.js';
import { bytesField } from './wire.js';

const OTHER_PATHS = [
  '/grpc.health.v1.Health/Check',
  '/grpc.health.v1.Health/List',
  '/grpc.health.v1.Health/Watch',
  '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
  '/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo',
];
const UNKNOWN_PATHS = [
  '/routing.v1.RouteService/DeleteRoute',
  '/routing.v1.RouteService/',
  '/routing.v1.routeservice/CreateRoute',
  '/unknown.Service/Method',
  '/constructor/toString',
  '/',
  '//',
  `/${'a'.repeat(1_500)}`,
  '/routing.v1.RouteService/CreateRoute?x=1',
  '/routing.v1.RouteService/CreateRoute/',
  '/%00',
];
/** Names that health and reflection are asked for, beside hostile ones. */
const SYMBOLS = [
  '',
  'routing.v1.RouteService',
  'routing.v1.Route.path',
  'google.api.http',
  'grpc.health.v1.Health',
];
/** Bounds of a message: 64 KiB, and what is beyond. */
const BOMBS = [65_536, 65_537, 300_000];

/** Calls in sound HTTP/2 whose parts are what the contract describes, or nearly. */
export function grpcByGrammar(random: Random, world: World): FuzzCase {
  const good = random.percent(85);
  const credential = good ? `Bearer ${world.token}` : badCredential(random, world).join(', ');
  const path = pathOf(random);
  const message = messageFor(path, good, random, world);
  // A streaming call goes on until its client or its time ends it.
  const endless = random.percent(1);
  const lasts = endless || path.includes('Watch') || path.includes('Reflection');
  const headers = {
    ...(credential === '' ? {} : { authorization: credential }),
    ...Object.fromEntries(
      random.list(random.pick([0, 0, 1, 2]), () => Object.entries(oddMetadata(random))).flat(),
    ),
    ...(lasts ? { 'grpc-timeout': '40m' } : {}),
  };
  const { body, encoding } = bodyOf(message, random);
  return grpcCase({ path, headers: { ...headers, ...encoding }, body, ends: !endless }, world);
}

function pathOf(random: Random): string {
  const way = random.below(100);
  if (way < 60) return CREATE;
  if (way < 80) return GET;
  return random.pick(way < 93 ? OTHER_PATHS : UNKNOWN_PATHS);
}

function messageFor(path: string, good: boolean, random: Random, { routes }: World): Buffer {
  const sound = soundMessage(
    path,
    good,
    random,
    routes.map(({ id }) => id),
  );
  return random.percent(60) ? sound : oddMessage(sound, random);
}

function soundMessage(path: string, good: boolean, random: Random, ids: readonly string[]): Buffer {
  if (path === CREATE) {
    const draft = good ? routeDraft(random) : { ...validDraft(random), handler: STRANGER };
    return createMessage(draft, random.percent(80) ? '' : requestId(random), random.percent(20));
  }
  if (path === GET) return getMessage(random.percent(60) ? random.pick(ids) : hostileText(random));
  const name = random.percent(60) ? random.pick(SYMBOLS) : hostileText(random);
  return bytesField(path.includes('Reflection') ? random.between(1, 8) : 1, Buffer.from(name));
}

function requestId(random: Random): string {
  return random.percent(60) ? `key-${random.below(99)}` : random.pick([hostileText(random), word(random)]);
}

/** The message behind a prefix that may lie about its length and its coding. */
function bodyOf(message: Buffer, random: Random): { body: Buffer; encoding: Record<string, string> } {
  if (random.percent(75)) return { body: framed(message), encoding: {} };
  const plain = random.percent(20) ? Buffer.alloc(random.pick(BOMBS)) : message;
  const name = random.pick(['gzip', 'deflate', 'identity', 'snappy', '', 'gzip, gzip']);
  const encoding = { 'grpc-encoding': name };
  switch (random.below(8)) {
    case 0:
      return { body: framed(gzipSync(plain), true), encoding: { 'grpc-encoding': 'gzip' } };
    case 1:
      return { body: framed(deflateSync(plain), true), encoding: { 'grpc-encoding': 'deflate' } };
    case 2:
      return { body: framed(plain, true), encoding };
    case 3:
      return { body: framed(gzipSync(plain).subarray(0, -random.between(1, 9)), true), encoding };
    case 4:
      return { body: lying(message, random), encoding: {} };
    case 5:
      return {
        body: Buffer.concat(random.list(random.pick([0, 2, 3, 20, 300]), () => framed(message))),
        encoding: {},
      };
    case 6:
      return { body: framed(message).subarray(0, random.below(message.length + 5)), encoding: {} };
    default:
      return { body: framed(plain, random.percent(50)), encoding };
  }
}

/** A prefix with another flag or length. */
function lying(message: Buffer, random: Random): Buffer {
  const body = framed(message);
  body.writeUInt8(random.pick([0, 1, 2, 127, 255]), 0);
  body.writeUInt32BE(random.pick([0, 1, message.length + 1, 65_537, 2 ** 31, 2 ** 32 - 1]), 1);
  return body;
}
