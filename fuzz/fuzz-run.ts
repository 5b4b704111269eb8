import { setTimeout as sleep } from 'node:timers/promises';
import { tokenFor } from '../test/support/service.js';
import { outcomeOf } from './case-limit.js';
import { GrpcSessions } from './grpc/grpc-sessions.js';
import { casesIn } from './kinds.js';
import { Ledger } from './ledger.js';
import { heapProblems, isJudged, residentProblems } from './memory.js';
import { RestConnections } from './rest/rest-connections.js';
import { createDatabase, type FuzzDatabase } from './service/database.js';
import { HonestCaller, type HonestFigures } from './service/honest-caller.js';
import { WatchedService } from './service/watched-service.js';
import { createStoredRoutes, storedRouteProblems } from './stored-routes.js';
import { Tally } from './tally.js';
import { drawn } from './values/draws.js';
import type { World } from './world.js';

/** The options of a run. */
interface FuzzOptions {
  readonly seed: number;
  /** The case numbers, in order. */
  readonly numbers: Iterable<number>;
  /** The time after which no further case starts, by `performance.now()`. */
  readonly until: number;
  /** The minimum number of cases: the run fails if fewer are sent in time. Undefined: no minimum. */
  readonly required: number | undefined;
  /** The number of cases that run at the same time. */
  readonly concurrency: number;
  /** The working directory of the service. */
  readonly folder: string;
  /** Additional settings of the service. */
  readonly settings: Readonly<Record<string, string>>;
}

/** The result of a run. */
export interface FuzzResult {
  readonly tally: Tally;
  readonly honest: HonestFigures;
  readonly memoryMib: readonly number[];
  readonly heapMib: readonly number[];
  readonly storedRoutes: number;
}

/** The expiry of tokens, in epoch seconds: far in the future, and constant so that a seed repeats the same bytes. */
const EXPIRY = 4_102_444_800;
/**
 * A small cache, so that a leak elsewhere shows in the memory. A short idle time, because Node keeps a connection whose
 * client violated HTTP/2 for this time, even after the client has disconnected.
 */
const SETTINGS = {
  ROUTE_CACHE_MIB: '2',
  GRPC_IDLE_MS: '5000',
};
/**
 * How long the service may take to free what the last cases used, in milliseconds: its idle time, and the interval at
 * which it checks for idle connections.
 */
const TIDY_MS = 8_000;
/** How many cases per thousand the service may reject as overloaded. */
const OVERLOADED_PER_MILLE = 1;

/** Runs the cases and a well-behaved client against a new service, and checks everything afterwards. */
export async function runFuzz(options: FuzzOptions): Promise<FuzzResult> {
  const database = await createDatabase(options.folder);
  try {
    return await runOn(database, options);
  } finally {
    await database.drop();
  }
}

async function runOn(database: FuzzDatabase, options: FuzzOptions): Promise<FuzzResult> {
  const tally = new Tally(options.seed);
  const settings = { ...SETTINGS, ...options.settings, DATABASE_URL: database.url };
  const service = await WatchedService.start(options.folder, settings, (problem) => {
    tally.alarm(problem);
  });
  const ledger = new Ledger();
  const token = tokenFor({ exp: EXPIRY });
  const readToken = tokenFor({ exp: EXPIRY, scope: 'routes:read' });
  const routes = await createStoredRoutes(service.http, token, ledger);
  const sessions = new GrpcSessions(service.grpc);
  const { grpc, http } = service;
  const connections = new RestConnections(http);
  const world: World = { grpc, http, token, readToken, routes, sessions, connections, ledger };
  const honest = new HonestCaller(
    { grpc, http },
    tokenFor({ exp: EXPIRY, sub: 'honest' }),
    ledger,
    (problem) => {
      tally.alarm(problem);
    },
  );
  const begun = performance.now();
  await work(options, world, tally);
  const seconds = ((performance.now() - begun) / 1_000).toFixed(0);
  if (options.required !== undefined && tally.cases < options.required && !tally.hopeless)
    tally.conclude([`${tally.cases} of ${options.required} cases in ${seconds} s.`]);
  const figures = await honest.stop();
  sessions.close();
  connections.close();
  if (isJudged(service.memoryMib)) await sleep(TIDY_MS);
  const { memoryMib, heapMib } = service;
  tally.conclude([
    ...(tally.dead ? [] : await storedRouteProblems(http, token, routes)),
    ...(await service.stop()),
    ...residentProblems(memoryMib),
    ...heapProblems(heapMib),
  ]);
  const stored = await database.routes();
  tally.conclude(ledger.compare(stored));
  if (ledger.overloaded > (tally.cases * OVERLOADED_PER_MILLE) / 1_000) {
    tally.conclude([`${ledger.overloaded} of ${tally.cases} cases were rejected with OVERLOADED.`]);
  }
  if (sessions.lost > 0)
    tally.conclude([`The service ended ${sessions.lost} connections of well-behaved clients.`]);
  if (connections.unasked > 0)
    tally.conclude([`${connections.unasked} connections received data that belongs to no request.`]);
  return { tally, honest: figures, memoryMib, heapMib, storedRoutes: stored.length };
}

/** Runs cases concurrently until none is left, the time is over, or the run has failed for good. */
async function work(
  { seed, numbers, until, concurrency }: FuzzOptions,
  world: World,
  tally: Tally,
): Promise<void> {
  const next: Iterator<number, unknown> = numbers[Symbol.iterator]();
  const cases = casesIn(world);
  const worker = async (): Promise<void> => {
    while (performance.now() < until && !tally.hopeless) {
      const { done, value: caseNumber } = next.next();
      if (done === true) return;
      const { kind, fuzzCase } = drawn(cases, seed, caseNumber);
      tally.begin(caseNumber);
      tally.end(caseNumber, kind, await outcomeOf(fuzzCase), fuzzCase);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}
