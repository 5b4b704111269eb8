import { CreateRouteRequest, GetRouteRequest } from '../../src/gen/routing/v1/route_service.js';
import { hostileText } from '../values/hostile-text.js';
import type { Random } from '../values/random.js';
import { type RouteDraft } from '../values/route-draft.js';
import { bytesField, key, LENGTH, VARINT, varint } from './wire.js';

/** The request of a create as the contract has it. */
export function createMessage(route: RouteDraft, requestId = '', validateOnly = false): Buffer {
  const whole = { id: '', ...route, createdAt: undefined };
  return Buffer.from(CreateRouteRequest.encode({ route: whole, requestId, validateOnly }).finish());
}

export function getMessage(routeId: string): Buffer {
  return Buffer.from(GetRouteRequest.encode({ routeId }).finish());
}

/** Bytes that follow the wire format of protocol buffers, or nearly, around a sound message. */
export function oddMessage(sound: Buffer, random: Random): Buffer {
  const parts = [sound];
  for (let more = random.between(1, 4); more > 0; more--)
    parts.splice(random.below(2), 0, oddField(random, 3));
  const whole = Buffer.concat(parts);
  return random.percent(20) ? whole.subarray(0, random.below(whole.length + 1)) : whole;
}

function oddField(random: Random, depth: number): Buffer {
  const field = random.pick([0, 1, 1, 2, 3, 4, 5, 6, 7, 15, 16, 19_000, 536_870_911, 536_870_912]);
  switch (random.below(depth > 0 ? 12 : 9)) {
    case 0:
      return Buffer.concat([
        key(field, VARINT),
        varint(random.pick([0, 1, 2, 127, 2 ** 32, 2 ** 52]), random.below(12)),
      ]);
    case 1:
      return Buffer.concat([key(field, random.pick([1, 5])), random.bytes(random.pick([4, 8, 8, 3]))]);
    case 2:
      return key(field, random.pick([3, 4, 6, 7]));
    case 3:
      return bytesField(field, NOT_UTF8);
    case 4:
      return bytesField(
        field,
        random.bytes(random.below(12)),
        random.pick([0, 1, 5, 127, 65_536, 2 ** 31, 2 ** 40]),
      );
    case 5:
      return Buffer.concat([key(field, LENGTH), Buffer.alloc(random.pick([9, 10, 11, 20]), 0xff)]);
    case 6:
      return random.bytes(random.between(1, 12));
    case 7:
    case 8:
      return bytesField(field, Buffer.from(hostileText(random)));
    case 9:
      return nested(field, random.pick([2, 99, 101, 3_000]));
    default:
      return bytesField(
        field,
        Buffer.concat(random.list(random.below(4), () => oddField(random, depth - 1))),
      );
  }
}

/** Half of a surrogate pair, an overlong NUL and a byte that never occurs, each as a careless encoder would write it. */
const NOT_UTF8 = Buffer.from('eda080c080ff', 'hex');

/** A group or message in itself, again and again. */
function nested(field: number, depth: number): Buffer {
  if (depth > 200)
    return Buffer.concat([Buffer.alloc(depth, key(field, 3)), Buffer.alloc(depth, key(field, 4))]);
  let inner: Buffer = Buffer.alloc(0);
  for (let level = 0; level < depth; level++) inner = bytesField(field, inner);
  return inner;
}
