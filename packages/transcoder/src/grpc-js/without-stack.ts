/**
 * Calls a function, during which V8 collects no stacks of errors. grpc-js makes an error for each call that it begins, only
 * for its stack, which this package never shows: a tenth of a separate gateway's CPU time.
 *
 * @param begin what it does after its first `await` has stacks again
 */
export function withoutStack<Result>(begin: () => Result): Result {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return begin();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}
