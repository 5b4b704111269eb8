/** Filters out the observers that are turned off, which are undefined. */
export function enabled<Observers extends readonly unknown[]>(
  ...observers: Observers
): Exclude<Observers[number], undefined>[] {
  return observers.filter((observer) => observer !== undefined) as Exclude<Observers[number], undefined>[];
}
