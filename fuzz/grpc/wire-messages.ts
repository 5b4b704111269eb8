import fc, { type Arbitrary } from 'fast-check';
import { CreateRouteRequest, GetRouteRequest } from '../../src/gen/routing/v1/route_service.js';
import type { RouteDraft } from '../values/callers.js';
import { at, bytesOf, place, weighted } from '../values/draws.js';
import { hostileText } from '../values/hostile-text.js';

/** Wire types of protocol buffers. The types 6 and 7 do not exist. */
const VARINT = 0;
const LENGTH = 2;
const MORE = 0x80;
/** Invalid UTF-8: an encoded lone surrogate, an overlong NUL, and a byte that never occurs. */
const NOT_UTF8 = Buffer.from('eda080c080ff', 'hex');

/** A well-formed CreateRouteRequest. */
export function createMessage(route: RouteDraft, requestId = '', validateOnly = false): Buffer {
  const whole = { id: '', ...route, middleware: [...route.middleware], createdAt: undefined };
  return Buffer.from(CreateRouteRequest.encode({ route: whole, requestId, validateOnly }).finish());
}

export function getMessage(routeId: string): Buffer {
  return Buffer.from(GetRouteRequest.encode({ routeId }).finish());
}

/** A length-delimited field. @param claimed the declared length; default: the real one */
export function bytesField(field: number, bytes: Uint8Array, claimed = bytes.length): Buffer {
  return Buffer.concat([key(field, LENGTH), varint(claimed), bytes]);
}

/** The tag of a field: its number and wire type. */
function key(field: number, wireType: number): Buffer {
  return varint(field * 8 + wireType);
}

/** A varint: seven bits per byte. @param overlong the number of redundant bytes to append */
function varint(value: number, overlong = 0): Buffer {
  const bytes: number[] = [];
  let rest = BigInt(value);
  for (; rest >= 128n; rest >>= 7n) bytes.push(Number(rest & 127n) | MORE);
  bytes.push(Number(rest));
  for (let more = overlong; more > 0; more--) bytes.push((bytes.pop() ?? 0) | MORE, 0);
  return Buffer.from(bytes);
}

/** A message nested in itself, or a group where the depth is more than 200. */
function nested(field: number, depth: number): Buffer {
  if (depth > 200)
    return Buffer.concat([Buffer.alloc(depth, key(field, 3)), Buffer.alloc(depth, key(field, 4))]);
  let inner: Buffer = Buffer.alloc(0);
  for (let level = 0; level < depth; level++) inner = bytesField(field, inner);
  return inner;
}

const number = fc.constantFrom(0, 1, 1, 2, 3, 4, 5, 6, 7, 15, 16, 19_000, 536_870_911, 536_870_912);
const value = fc
  .tuple(fc.constantFrom(0, 1, 2, 127, 2 ** 32, 2 ** 52), fc.nat(11))
  .map(([drawn, overlong]) => varint(drawn, overlong));
const fixed = fc.tuple(fc.constantFrom(1, 5), bytesOf(4, 8, 8, 3));
const lie = fc.tuple(bytesOf(0, 3, 11), fc.constantFrom(0, 1, 5, 127, 65_536, 2 ** 31, 2 ** 40));

/** A field that follows the wire format of protocol buffers, or nearly does. */
const { field } = fc.letrec<{ field: Buffer }>((tie) => ({
  field: fc.oneof(
    { maxDepth: 3 },
    fc.tuple(number, value).map(([of, drawn]) => Buffer.concat([key(of, VARINT), drawn])),
    fc.tuple(number, fixed).map(([of, [type, bytes]]) => Buffer.concat([key(of, type), bytes])),
    fc.tuple(number, fc.constantFrom(3, 4, 6, 7)).map(([of, type]) => key(of, type)),
    number.map((of) => bytesField(of, NOT_UTF8)),
    fc.tuple(number, lie).map(([of, [bytes, claimed]]) => bytesField(of, bytes, claimed)),
    fc
      .tuple(number, fc.constantFrom(9, 10, 11, 20))
      .map(([of, length]) => Buffer.concat([key(of, LENGTH), Buffer.alloc(length, 0xff)])),
    bytesOf(1, 4, 12),
    fc.tuple(number, hostileText).map(([of, text]) => bytesField(of, Buffer.from(text))),
    fc.tuple(number, fc.constantFrom(2, 99, 101, 3_000)).map(([of, depth]) => nested(of, depth)),
    fc
      .tuple(number, fc.array(tie('field'), { maxLength: 3 }))
      .map(([of, inner]) => bytesField(of, Buffer.concat(inner))),
  ),
}));

const surroundings = fc.array(fc.tuple(fc.boolean(), field), { minLength: 1, maxLength: 4 });

/** Puts odd fields around a well-formed message, and sometimes truncates the result. */
export const oddMessage: Arbitrary<(sound: Buffer) => Buffer> = fc
  .tuple(surroundings, weighted([4, fc.constant(undefined)], [1, place]))
  .map(([fields, cut]) => (sound) => {
    const side = (before: boolean): Buffer[] => fields.flatMap(([is, odd]) => (is === before ? [odd] : []));
    const whole = Buffer.concat([...side(true), sound, ...side(false)]);
    return cut === undefined ? whole : whole.subarray(0, at(cut, whole.length + 1));
  });
