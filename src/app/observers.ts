/** Those that watch, of which each is absent where it is turned off. */
export function present<Observers extends readonly unknown[]>(
  ...observers: Observers
): Exclude<Observers[number], undefined>[] {
  return observers.filter((observer) => observer !== undefined) as Exclude<Observers[number], undefined>[];
}
