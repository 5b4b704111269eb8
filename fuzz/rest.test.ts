import { isDeepStrictEqual } from 'node:util';
import fc, { type IAsyncProperty } from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseDatabaseUrl } from '../src/settings/database-url.js';
import { openForMigrations } from '../src/store/database.js';
import { type Row, toRoute } from '../src/store/route-columns.js';
import { type Database, engines } from '../test/support/engines.js';
import { requestOf } from '../test/support/requests.js';
import { richErrorOfCall } from '../test/support/rich-error.js';
import { create, get, metadataOf, type Service, startService, tokenFor } from '../test/support/service.js';
import { FORBIDDEN, routeDraft, type RouteDraft, validDraft } from './callers.js';
import { percent, weighted } from './draws.js';
import { type Answer, Exchange } from './exchange.js';
import { type Request, requests } from './requests.js';
import { expectRules, hasTimeout } from './rules.js';

/** How many requests are sent. */
const CASES = Number(process.env['FUZZ_CASES'] ?? 20_000);
/** How many creates are sent over both protocols. */
const TWINS = Math.ceil(CASES / 10);
/** What a failed run prints, to repeat it: the seed, and the path to the smallest request that fails. */
const REPEATED = {
  ...(process.env['FUZZ_SEED'] === undefined ? {} : { seed: Number(process.env['FUZZ_SEED']) }),
  ...(process.env['FUZZ_PATH'] === undefined ? {} : { path: process.env['FUZZ_PATH'] }),
};
/** How many routes exist before the first request. */
const ROUTES = 20;
const TIME_LIMIT_MS = 900_000;
/** The expiry of tokens, in epoch seconds: constant, so that a seed repeats the same bytes. */
const EXPIRY = 4_102_444_800;
/** The level of errors in pino's lines. */
const ERROR = 50;
/** Lone surrogates, which JSON can represent and protocol buffers cannot. */
const NO_TEXT = /\p{Cs}/u;
/** The limit of a body, in bytes, and the most that JSON makes of a character: `\u0000`. */
const MAX_BYTES = 65_536;
const ESCAPED_BYTES = 6;

const token = tokenFor({ exp: EXPIRY });
const metadata = metadataOf(token);
/** The routes that the service acknowledged, by id, as it showed them first. */
const acknowledged = new Map<string, unknown>();
let unsure = 0;
let database: Database;
let service: Service;
let exchange: Exchange;
let ids: string[];

beforeAll(async () => {
  database = await engines[0].createDatabase();
  service = await startService({ databaseUrl: database.url });
  exchange = new Exchange(service.httpUrl);
  const drafts = fc.sample(validDraft, { seed: 1, numRuns: ROUTES });
  for (const draft of drafts) acknowledge(await exchange.send(createOf(draft)));
  ids = [...acknowledged.keys()];
});

afterAll(async () => {
  exchange.close();
  await database.drop();
});

const authorization = ['authorization', `Bearer ${token}`] as const;

function createOf(draft: RouteDraft, query = ''): Request {
  const headers = [authorization, ['content-type', 'application/json'] as const];
  const body = Buffer.from(JSON.stringify(draft));
  return { verb: 'POST', target: `/v1/routing${query}`, headers, body, chunked: false };
}

function getOf(id: string): Request {
  return { verb: 'GET', target: `/v1/routing/${id}`, headers: [authorization], chunked: false };
}

/** Remembers a created route. A repeat shows the same route. */
function acknowledge({ body }: Answer): { id: string } {
  const route = JSON.parse(body) as { id: string };
  expect(acknowledged.get(route.id) ?? route).toEqual(route);
  acknowledged.set(route.id, route);
  return route;
}

/** Sends cases until one fails, and then the smallest that fails, too. */
async function hold<Values>(property: IAsyncProperty<Values>, numRuns: number): Promise<void> {
  await fc.assert(property, { ...REPEATED, numRuns });
}

/** A create that has the same meaning over both protocols. */
const twin = fc.record({
  route: routeDraft,
  validateOnly: percent(30),
  requestId: weighted([70, fc.constant('')], [30, fc.uuid()]),
  snakeCase: fc.boolean(),
});

describe('the service', { timeout: TIME_LIMIT_MS }, () => {
  it('keeps the rules of every response, whatever is sent over REST', async () => {
    const property = fc.asyncProperty(requests(token, ids), async (request) => {
      const answer = await exchange.send(request);
      const created = expectRules(answer, request, token);
      if (created !== undefined) acknowledge(answer);
      if (answer.status === 504 && hasTimeout(request)) unsure++;
    });
    await hold(property, CASES);
  });

  it('says the same of a create over both protocols', async () => {
    const property = fc.asyncProperty(twin, async ({ route, validateOnly, requestId, snakeCase }) => {
      const [idName, onlyName] = snakeCase ? ['request_id', 'validate_only'] : ['requestId', 'validateOnly'];
      const query = new URLSearchParams({
        ...(requestId === '' ? {} : { [idName]: requestId }),
        ...(validateOnly ? { [onlyName]: 'true' } : {}),
      });
      const answer = await exchange.send(createOf(route, `?${query.toString()}`));
      // JSON is longer than the message, and the one place where a lone surrogate can stand.
      fc.pre(answer.status !== 413 || JSON.stringify(route).length * ESCAPED_BYTES <= MAX_BYTES);
      if (
        Object.values(route)
          .flat()
          .some((text: string) => NO_TEXT.test(text))
      ) {
        expect(answer.status).toBe(400);
        return;
      }
      const middleware = [...route.middleware];
      const over = await create(
        service.client,
        requestOf({ ...route, middleware }, { requestId, validateOnly }),
        metadata,
      );
      if (over.route === undefined) {
        const { error } = JSON.parse(answer.body) as {
          error: { status: string; message: string; details: object[] };
        };
        const { status, message, details } = richErrorOfCall(over);
        const shown = { status: error.status, message: error.message, details: withoutCall(error.details) };
        expect(shown).toEqual({ status, message, details: withoutCall(details as object[]) });
        return;
      }
      const shown = JSON.parse(answer.body) as { id?: string };
      expect(shown).toMatchObject(route);
      expect(Object.hasOwn(shown, 'id')).toBe(!validateOnly);
      if (validateOnly) return;
      const { id } = acknowledge(answer);
      acknowledged.set(over.route.id, asShown(over.route));
      expect(requestId === '' || over.route.id === id, 'a retry over gRPC creates no second route').toBe(
        true,
      );
      expect((await exchange.send(getOf(id))).body).toBe(answer.body);
      expect(asShown((await get(service.client, id, metadata)).route)).toEqual(shown);
    });
    await hold(property, TWINS);
  });

  it('has stored what it acknowledged and nothing else, and has logged no error', async () => {
    await service.close();
    const knex = openForMigrations(parseDatabaseUrl(database.url));
    const rows = await knex('routes').select<Row[]>();
    await knex.destroy();
    const stored = new Map(rows.map((row) => [toRoute(row).id, asShown(toRoute(row))]));
    expect([...acknowledged].filter(([id, route]) => !isDeepStrictEqual(stored.get(id), route))).toEqual([]);
    expect(stored.size - acknowledged.size).toBeLessThanOrEqual(unsure);
    expect(rows.filter(({ handler }) => handler === FORBIDDEN)).toEqual([]);
    expect(service.log.filter(({ level }) => Number(level) >= ERROR)).toEqual([]);
  });
});

/** A route as REST shows it. */
function asShown(route: { readonly createdAt: Date | undefined } | undefined): unknown {
  return { ...route, createdAt: route?.createdAt?.toISOString() };
}

/** The details of a failure, except those that identify the call. */
function withoutCall(details: readonly object[]): object[] {
  return details.filter((detail) => !(detail as { '@type': string })['@type'].endsWith('.RequestInfo'));
}
