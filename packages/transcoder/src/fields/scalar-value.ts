import { ScalarType } from '@bufbuild/protobuf';
import { base64Bytes } from './base64.js';
import { numberForms, singlePrecision } from './text-form.js';

/** The value of a scalar in its JSON form, as reflection takes it; undefined if ProtoJSON does not allow that form. */
export function scalarValue(scalar: ScalarType, json: unknown): unknown {
  if (scalar === ScalarType.STRING) return typeof json === 'string' ? json : undefined;
  if (scalar === ScalarType.BOOL) return typeof json === 'boolean' ? json : undefined;
  if (typeof json === 'number') return numberIn(scalar, json);
  if (typeof json !== 'string') return undefined;
  return scalar === ScalarType.BYTES ? base64Bytes(json) : numberInText(scalar, json);
}

/** The value of a number in JSON; undefined if the scalar takes no such number. */
function numberIn(scalar: ScalarType, json: number): number | undefined {
  if (scalar === ScalarType.DOUBLE) return json;
  if (scalar === ScalarType.FLOAT) return singlePrecision(json);
  const bounds = BOUNDS.get(scalar);
  if (bounds === undefined || !Number.isInteger(json)) return undefined;
  const [least, most] = bounds;
  return json >= least && json <= most ? json : undefined;
}

/** The value of a number in a JSON string; undefined if the scalar takes no such number. */
function numberInText(scalar: ScalarType, text: string): string | number | undefined {
  const form = numberForms.get(scalar)?.(text);
  if (typeof form !== 'string') return form;
  // Digits, NaN or an infinity. Of integers that a number cannot hold, reflection takes the digits.
  const number = Number(form);
  return Number.isInteger(number) && !Number.isSafeInteger(number) ? form : number;
}

const OF_INT32 = [-(2 ** 31), 2 ** 31 - 1] as const;
const OF_UINT32 = [0, 2 ** 32 - 1] as const;
/** Of the numbers that JavaScript holds exactly. */
const OF_INT64 = [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER] as const;
const OF_UINT64 = [0, Number.MAX_SAFE_INTEGER] as const;
/** The bounds of the integer types. */
const BOUNDS: ReadonlyMap<ScalarType, readonly [least: number, most: number]> = new Map([
  [ScalarType.INT32, OF_INT32],
  [ScalarType.SINT32, OF_INT32],
  [ScalarType.SFIXED32, OF_INT32],
  [ScalarType.UINT32, OF_UINT32],
  [ScalarType.FIXED32, OF_UINT32],
  [ScalarType.INT64, OF_INT64],
  [ScalarType.SINT64, OF_INT64],
  [ScalarType.SFIXED64, OF_INT64],
  [ScalarType.UINT64, OF_UINT64],
  [ScalarType.FIXED64, OF_UINT64],
]);
