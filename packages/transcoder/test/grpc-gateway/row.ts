import type { DifferenceName } from './differences.js';
import type { RawRequest } from './request.js';

/** A request, and how its answer differs from that of grpc-gateway: undefined where both are alike. */
export interface Row {
  readonly request: RawRequest;
  readonly strict: DifferenceName | undefined;
  readonly lenient: DifferenceName | undefined;
}

/** Rows of the same outcome, with the option `lenient` and without. */
export function rows(
  strict: DifferenceName | undefined,
  lenient: DifferenceName | undefined,
  requests: readonly RawRequest[],
): Row[] {
  return requests.map((request) => ({ request, strict, lenient }));
}

/** Rows that are answered alike, both ways. */
export function alike(...requests: readonly RawRequest[]): Row[] {
  return rows(undefined, undefined, requests);
}

/** Rows that are answered differently, both ways. */
export function differ(difference: DifferenceName, ...requests: readonly RawRequest[]): Row[] {
  return rows(difference, difference, requests);
}

/** Rows that are answered alike only with `lenient`. */
export function alikeIfLenient(difference: DifferenceName, ...requests: readonly RawRequest[]): Row[] {
  return rows(difference, undefined, requests);
}

/** Rows that are answered differently only with `lenient`. */
export function differIfLenient(difference: DifferenceName, ...requests: readonly RawRequest[]): Row[] {
  return rows(undefined, difference, requests);
}
