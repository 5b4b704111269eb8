import type { Load } from './load.js';

const WORKING_SET = 1_000;

/** Returns a function that yields the number of the next route to get or create; `undefined` when none is left. */
export function routeNumbers({ operation, pick, stored, from }: Load): () => number | undefined {
  if (operation !== 'get' && operation !== 'echo') return newNumbers();
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

/** Numbers that no route has, not even from an earlier run: they count up from the current time in microseconds. */
function newNumbers(): () => number {
  let n = Date.now() * 1_000;
  return () => n++;
}
