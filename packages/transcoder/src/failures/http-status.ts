import { Code } from '../gen/google/rpc/code_pb.js';

/** The HTTP status of each gRPC code, as in the comments of google/rpc/code.proto. */
const httpStatuses = {
  [Code.OK]: 200,
  [Code.CANCELLED]: 499,
  [Code.UNKNOWN]: 500,
  [Code.INVALID_ARGUMENT]: 400,
  [Code.DEADLINE_EXCEEDED]: 504,
  [Code.NOT_FOUND]: 404,
  [Code.ALREADY_EXISTS]: 409,
  [Code.PERMISSION_DENIED]: 403,
  [Code.RESOURCE_EXHAUSTED]: 429,
  [Code.FAILED_PRECONDITION]: 400,
  [Code.ABORTED]: 409,
  [Code.OUT_OF_RANGE]: 400,
  [Code.UNIMPLEMENTED]: 501,
  [Code.INTERNAL]: 500,
  [Code.UNAVAILABLE]: 503,
  [Code.DATA_LOSS]: 500,
  [Code.UNAUTHENTICATED]: 401,
} as const satisfies Record<Code, number>;

export function httpStatusOf(code: Code): number {
  return httpStatuses[code];
}

/** The gRPC code of a number; `UNKNOWN` for a number that gRPC does not define. */
export function codeOf(number: number): Code {
  return codes.get(number) ?? Code.UNKNOWN;
}

const codes: ReadonlyMap<number, Code> = new Map(
  Object.values(Code)
    .filter((code) => typeof code === 'number')
    .map((code) => [code, code]),
);
