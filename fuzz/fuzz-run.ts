import { join } from 'node:path';
import { tokenFor } from '../test/support/service.js';
import { grpcByGrammar } from './grpc/grpc-grammar.js';
import { GrpcSessions } from './grpc/grpc-sessions.js';
import { Ledger, type ShownRoute } from './ledger.js';
import { RestConnections } from './rest/rest-connections.js';
import { restByGrammar } from './rest/rest-grammar.js';
import { Tally } from './tally.js';
import { validDraft } from './values/callers.js';
import { drawn, weighted } from './values/draws.js';
import { WatchedService } from './watched-service.js';
import type { FuzzCase, Outcome, World } from './world.js';

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
  /** The working directory of the service, and the folder of its database. */
  readonly folder: string;
  /** Additional settings of the service. */
  readonly settings: Readonly<Record<string, string>>;
}

/** The result of a run. */
export interface FuzzResult {
  readonly tally: Tally;
  /** The heap of the service without calls, before the first case and after the last, in MiB. */
  readonly heapMib: readonly [before: number, after: number];
}

/** The time limit of a case, in milliseconds: far longer than any case takes, even on a busy machine. */
export const CASE_LIMIT_MS = 30_000;
/** The expiry of tokens, in epoch seconds: far in the future, and constant so that a seed repeats the same bytes. */
const EXPIRY = 4_102_444_800;
/** How many routes exist before the first case. */
const ROUTES = 20;
/** How many cases per thousand the service may reject as overloaded. */
const OVERLOADED_PER_MILLE = 1;
/** What the heap may grow by from the first case to the last, in MiB: caches, and code that was compiled. */
const HEAP_MIB = 24;

/** Runs the cases against a new service on a new embedded database, and checks everything afterwards. */
export async function runFuzz(options: FuzzOptions): Promise<FuzzResult> {
  const { folder, seed, required } = options;
  const tally = new Tally(seed);
  const database = join(folder, 'routes.db');
  // A small cache, so that a leak elsewhere shows in the memory.
  const settings = { ROUTE_CACHE_MIB: '2', ...options.settings, DATABASE_URL: `sqlite:${database}` };
  const service = await WatchedService.start(folder, settings, (problem) => {
    tally.alarm(problem);
  });
  const { grpc, http } = service;
  const ledger = new Ledger();
  const token = tokenFor({ exp: EXPIRY });
  const readToken = tokenFor({ exp: EXPIRY, scope: 'routes:read' });
  const ids = await createRoutes(http, token, ledger);
  const sessions = new GrpcSessions(grpc);
  const connections = new RestConnections(http);
  const before = await service.heapMib();
  const begun = performance.now();
  await work(options, { grpc, http, token, readToken, ids, sessions, connections, ledger }, tally);
  const seconds = ((performance.now() - begun) / 1_000).toFixed(0);
  if (required !== undefined && tally.cases < required && !tally.hopeless)
    tally.conclude([`${tally.cases} of ${required} cases in ${seconds} s.`]);
  sessions.close();
  connections.close();
  const after = await service.heapMib();
  if (after > before + HEAP_MIB)
    tally.conclude([`The heap grew from ${before.toFixed(0)} to ${after.toFixed(0)} MiB.`]);
  tally.conclude([...(await service.stop()), ...(await ledger.compare(database))]);
  if (ledger.overloaded > (tally.cases * OVERLOADED_PER_MILLE) / 1_000)
    tally.conclude([`${ledger.overloaded} of ${tally.cases} cases were rejected with OVERLOADED.`]);
  if (sessions.lost > 0)
    tally.conclude([`The service ended ${sessions.lost} connections of well-behaved clients.`]);
  if (connections.unasked > 0)
    tally.conclude([`${connections.unasked} connections received data that belongs to no request.`]);
  return { tally, heapMib: [before, after] };
}

/** Creates the routes that exist before the first case. Returns their ids. */
async function createRoutes(http: string, token: string, ledger: Ledger): Promise<string[]> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const ids: string[] = [];
  while (ids.length < ROUTES) {
    const body = JSON.stringify(drawn(validDraft, 1, ids.length));
    const response = await fetch(`http://${http}/v1/routing`, { method: 'POST', headers, body });
    if (response.status !== 201) throw new Error(await response.text());
    const route = (await response.json()) as ShownRoute;
    ledger.acknowledge(route);
    ids.push(route.id);
  }
  return ids;
}

/** Runs cases concurrently until none is left, the time is over, or the run has failed for good. */
async function work(
  { seed, numbers, until, concurrency }: FuzzOptions,
  world: World,
  tally: Tally,
): Promise<void> {
  const next: Iterator<number, unknown> = numbers[Symbol.iterator]();
  const cases = weighted([26, restByGrammar(world)], [74, grpcByGrammar(world)]);
  const worker = async (): Promise<void> => {
    while (performance.now() < until && !tally.hopeless) {
      const { done, value: caseNumber } = next.next();
      if (done === true) return;
      const fuzzCase = drawn(cases, seed, caseNumber);
      tally.begin(caseNumber);
      tally.end(caseNumber, await outcomeOf(fuzzCase), fuzzCase);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}

/** Sends a case and returns its outcome, also when it fails or has to be aborted. */
async function outcomeOf(fuzzCase: FuzzCase): Promise<Outcome> {
  const limit = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const tooLong = new Promise<Outcome>((resolve) => {
    timer = setTimeout(() => {
      limit.abort();
      resolve(failed(`The case did not end within ${CASE_LIMIT_MS / 1_000} s.`));
    }, CASE_LIMIT_MS);
  });
  try {
    return await Promise.race([fuzzCase.send(limit.signal), tooLong]);
  } catch (error) {
    return failed(
      `The response could not be read: ${error instanceof Error ? String(error.stack) : String(error)}`,
    );
  } finally {
    clearTimeout(timer);
  }
}

function failed(problem: string): Outcome {
  return { answers: [], problems: [problem] };
}
