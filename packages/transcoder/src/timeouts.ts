/** The longest delay of a Node timer, in milliseconds: 24.8 days. With a longer delay, a timer would fire at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

const GRPC_TIMEOUT = /^(?=.*[1-9])(?<amount>[0-9]{1,8})(?<unit>[HMSmun])$/;
/** The largest amount, of eight digits. */
const LARGEST_AMOUNT = 99_999_999;

const UNITS_MS: ReadonlyMap<string | undefined, number> = new Map([
  ['H', 3_600_000],
  ['M', 60_000],
  ['S', 1_000],
  ['m', 1],
  ['u', 1e-3],
  ['n', 1e-6],
]);

/** The time in a `grpc-timeout` (gRPC's PROTOCOL-HTTP2.md), in milliseconds; undefined unless it is a time above zero. */
export function readGrpcTimeout(text: string): number | undefined {
  const { amount, unit } = GRPC_TIMEOUT.exec(text)?.groups ?? {};
  const unitMs = UNITS_MS.get(unit);
  return unitMs === undefined ? undefined : Number(amount) * unitMs;
}

/** A `grpc-timeout` of at least so many milliseconds, or the longest in seconds. */
export function writeGrpcTimeout(ms: number): string {
  const whole = Math.max(1, Math.ceil(ms));
  return whole <= LARGEST_AMOUNT ? `${whole}m` : `${Math.min(LARGEST_AMOUNT, Math.ceil(whole / 1_000))}S`;
}
