import type { Load } from './load.js';

const WORKING_SET = 1_000;

/** The numbers of the routes that a load asks for, or creates, one after the other; `undefined` when none is left. */
export function routeNumbers({ operation, pick, stored, from }: Load): () => number | undefined {
  if (operation === 'create') return newNumbers();
  switch (pick) {
    case 'hot':
      return () => 0;
    case 'uniform':
      return () => Math.floor(Math.random() * stored);
    case 'once':
      return numbersBelow(stored, from);
    case 'thousand':
      return () => Math.floor(Math.random() * WORKING_SET) * Math.floor(stored / WORKING_SET);
  }
}

function numbersBelow(end: number, from: number): () => number | undefined {
  let n = from;
  return () => (n < end ? n++ : undefined);
}

/** Numbers that no route has, not even one of an earlier run: they count on from the clock's microseconds. */
function newNumbers(): () => number {
  let n = Date.now() * 1_000;
  return () => n++;
}
