/**
 * Returns a function that calls `make` the first time, and then always returns the same value. A promise is kept, too,
 * even if it rejects; an error that `make` throws is not.
 */
export function lazily<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => (made ??= { value: make() }).value;
}
