import type { DifferenceName } from './differences.js';
import type { RawRequest } from './request.js';

/** A request, and how its outcome differs from grpc-gateway's: undefined if both are alike. */
export interface Row {
  readonly request: RawRequest;
  readonly strict: DifferenceName | undefined;
  readonly lenient: DifferenceName | undefined;
}

/** Rows with the given differences: without the option `lenient`, and with it. */
export function rows(
  strict: DifferenceName | undefined,
  lenient: DifferenceName | undefined,
  requests: readonly RawRequest[],
): Row[] {
  return requests.map((request) => ({ request, strict, lenient }));
}

/** Requests whose outcome is the same as grpc-gateway's, with and without `lenient`. */
export function alike(...requests: readonly RawRequest[]): Row[] {
  return rows(undefined, undefined, requests);
}

/** Requests whose outcome differs, with and without `lenient`. */
export function differ(difference: DifferenceName, ...requests: readonly RawRequest[]): Row[] {
  return rows(difference, difference, requests);
}

/** Requests whose outcome is the same only with `lenient`. */
export function alikeIfLenient(difference: DifferenceName, ...requests: readonly RawRequest[]): Row[] {
  return rows(difference, undefined, requests);
}

/** Requests whose outcome differs only with `lenient`. */
export function differIfLenient(difference: DifferenceName, ...requests: readonly RawRequest[]): Row[] {
  return rows(undefined, difference, requests);
}
