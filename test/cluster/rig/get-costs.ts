import { onTestFinished } from 'vitest';
import { median } from '../../../bench/load/percentile.js';
import { parseDatabaseUrl } from '../../../src/settings/database-url.js';
import { openDatabase } from '../../../src/store/database.js';
import { GaleraDetection } from '../../../src/store/galera.js';
import { KnexRouteStore } from '../../../src/store/knex-route-store.js';
import type { ObservedStatement } from '../../../src/store/statement-observer.js';
import { entryOf } from '../../support/store-entries.js';

const GETS = 200;

/** The costs of gets on a node of Galera. */
interface GetCosts {
  /** Statements for each get. */
  readonly found: number;
  readonly unknown: number;
  /** Medians, in milliseconds: of statements that find a route, and of those that ask again. */
  readonly firstMs: number;
  readonly againMs: number;
}

/** Gets routes and unknown ids one after another from a store. @param url an empty database on a node of Galera */
export async function getCostsOn(url: string): Promise<GetCosts> {
  const galera = new GaleraDetection();
  const knex = openDatabase(parseDatabaseUrl(url), 0, undefined, galera);
  onTestFinished(() => knex.destroy());
  let statements: { fallback: boolean; ms: number }[] = [];
  const observer = {
    begin: ({ fallback }: ObservedStatement) => {
      const begunAt = performance.now();
      return () => {
        statements.push({ fallback, ms: performance.now() - begunAt });
      };
    },
  };
  const store = new KnexRouteStore(knex, { galera, observers: [observer] });
  const entries = Array.from({ length: GETS }, () => entryOf());
  await Promise.all(entries.map((entry) => store.insert(entry, 'allow')));

  const getsOf = async (ids: readonly string[]): Promise<typeof statements> => {
    statements = [];
    for (const id of ids) await store.find(id);
    return statements;
  };
  const found = await getsOf(entries.map(({ route }) => route.id));
  const unknown = await getsOf(entries.map(() => entryOf().route.id));
  return {
    found: found.length / GETS,
    unknown: unknown.length / GETS,
    firstMs: median(found.map(({ ms }) => ms)),
    againMs: median(unknown.filter(({ fallback }) => fallback).map(({ ms }) => ms)),
  };
}
