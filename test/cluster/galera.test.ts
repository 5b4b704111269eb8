import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { acknowledgedAgain } from '../faults/rig/answers-again.js';
import { Callers, type Create, summary } from '../faults/rig/callers.js';
import { query } from '../faults/rig/database-server.js';
import { needs } from '../support/needs.js';
import { throughPort } from '../support/tcp-proxy.js';
import { figure } from '../faults/rig/figures.js';
import { type Ledger, ledgerOf } from '../faults/rig/ledger.js';
import { startProcess } from '../faults/rig/service-process.js';
import { JOIN_MS, wholeCluster } from './rig/cluster-view.js';
import { type DatabaseBalancer, startDatabaseBalancer } from './rig/database-balancer.js';
import { type GaleraNode, startGalera } from './rig/galera-node.js';
import { getCostsOn } from './rig/get-costs.js';
import { outageSeconds } from './rig/outage.js';
import { readOwnWrites } from './rig/own-writes.js';
import { startTwoInstances, type TwoInstances } from './rig/two-instances.js';

const ROUTES = 2_000;
/** All of them under way at once, and too few to make the other nodes wait for one that lags. */
const FEW_ROUTES = 8;
const LAG_MS = 1_000;
const POLL_MS = 100;
/** The load before and after a fault, in milliseconds. */
const LOAD_MS = 2_000;
/**
 * The ends of calls that are allowed while the writer is away. A 503 of the service always has Retry-After: one without
 * is HAProxy's, while both instances wait.
 */
const OUTAGE = ['503', '503 without Retry-After', '504', 'UNAVAILABLE', 'DEADLINE_EXCEEDED'];

describe('on three Galera nodes behind HAProxy', needs('galera', 'haproxy'), () => {
  let nodes: readonly GaleraNode[] = [];

  beforeAll(async () => {
    nodes = await startGalera(inject('galera'));
  });

  afterEach(async () => {
    for (const node of nodes) await node.heal();
    await wholeCluster(nodes);
  });

  afterAll(async () => {
    await Promise.all(nodes.map((node) => node.close()));
  });

  function node(index: number): GaleraNode {
    const found = nodes[index];
    if (found === undefined) throw new Error(`There is no node ${index}.`);
    return found;
  }

  /** Two instances, whose writes go to one node and whose reads go to all. */
  async function start(): Promise<{ url: string; database: DatabaseBalancer } & TwoInstances> {
    const url = await node(0).createDatabase();
    const database = await startDatabaseBalancer(nodes);
    const instances = await startTwoInstances({
      DATABASE_URL: throughPort(url, database.writerPort),
      DATABASE_REPLICA_URLS: throughPort(url, database.readerPort),
      DATABASE_WAIT_MS: '20000',
    });
    return { url, database, ...instances };
  }

  it('a route is there at once for an instance that did not create it', async () => {
    const { first, second } = await start();
    const { p99Ms, ...counts } = await readOwnWrites({ first, second, routes: ROUTES });
    figure('Galera, created on one instance and got on the other', { ...counts, 'p99 ms': p99Ms });
    expect(counts).toEqual({ created: ROUTES, notFound: 0, failed: 0 });
  });

  it.each([
    { role: 'the database', settings: () => ({}) },
    { role: 'the database and its replica', settings: (url: string) => ({ DATABASE_REPLICA_URLS: url }) },
  ])('a route is there at once also on a node that lags, as $role', async ({ role, settings }) => {
    const url = await node(0).createDatabase();
    const there = throughPort(url, node(1).port);
    const routesOn = async (each: string): Promise<number> => {
      const [row] = await query(each, 'select count(*) as routes from routes');
      return Number(row?.['routes']);
    };
    const [first, second] = await Promise.all([
      startProcess({ DATABASE_URL: url }),
      startProcess({ DATABASE_URL: there, ...settings(there) }),
    ]);
    const letGo = await node(1).lag();
    const reading = readOwnWrites({ first, second, routes: FEW_ROUTES });
    try {
      await expect.poll(() => routesOn(url), { timeout: JOIN_MS }).toBe(FEW_ROUTES);
      await sleep(LAG_MS);
      await expect(routesOn(there)).resolves.toBe(0);
    } finally {
      await letGo();
    }
    const { p99Ms, ...counts } = await reading;
    figure(`Galera, got from a node that lags by a second, as ${role}`, { ...counts, 'p99 ms': p99Ms });
    expect(counts).toEqual({ created: FEW_ROUTES, notFound: 0, failed: 0 });
  });

  it('only a get that finds nothing is asked again', async () => {
    const url = await node(0).createDatabase();
    const { found, unknown, firstMs, againMs } = await getCostsOn(throughPort(url, node(1).port));
    figure('Galera, statements of a get', {
      'if it finds its route': found,
      'if not': unknown,
      'ms of the first': firstMs,
      'ms of the second, which waits': againMs,
    });
    expect({ found, unknown }).toEqual({ found: 1, unknown: 2 });
  });

  /** The ledger of a node once it has applied everything that it has received. */
  async function settled(there: string, creates: readonly Create[]): Promise<Ledger> {
    const until = performance.now() + JOIN_MS;
    let ledger = await ledgerOf(there, creates);
    while (ledger.lost > 0 && performance.now() < until) {
      await sleep(POLL_MS);
      ledger = await ledgerOf(there, creates);
    }
    return ledger;
  }

  interface Fault {
    readonly fault: string;
    readonly begin: (database: DatabaseBalancer) => Promise<void> | void;
    readonly end: (database: DatabaseBalancer) => Promise<void> | void;
  }

  const faults: readonly Fault[] = [
    {
      fault: 'the writer is killed and joins again',
      begin: () => node(0).kill(),
      end: () => node(0).rejoin(),
    },
    {
      fault: 'another node is killed and joins again',
      begin: () => node(1).kill(),
      end: () => node(1).rejoin(),
    },
    {
      fault: 'the writer is frozen for a while',
      begin: async () => {
        node(0).freeze();
        await expect.poll(() => node(1).view(), { timeout: JOIN_MS }).toMatch(/^Primary, 2 nodes/);
      },
      end: () => {
        node(0).thaw();
      },
    },
    {
      fault: 'another node becomes the writer, and the first one again',
      begin: (database) => database.moveWriterFrom(0),
      end: (database) => database.allowWriter(0),
    },
  ];

  it.each(faults)(
    'when $fault, no acknowledged create is lost, none is doubled',
    async ({ fault, begin, end }) => {
      const { url, database, balancer } = await start();
      const callers = new Callers({ ...balancer, each: 4 });
      const insisting = new Callers({ ...balancer, each: 4, insist: true });
      await sleep(LOAD_MS);
      await begin(database);
      const back = await acknowledgedAgain(callers);
      await end(database);
      await sleep(LOAD_MS);
      await wholeCluster(nodes);
      await acknowledgedAgain(callers);
      await callers.stop();
      await insisting.stop();
      await wholeCluster(nodes);
      const bad = summary(callers.creates).bad;
      for (const [i, each] of nodes.entries()) {
        const there = throughPort(url, each.port);
        const ledger = await settled(there, callers.creates);
        const withIds = await settled(there, insisting.creates);
        expect.soft(ledger, `node ${i}`).toMatchObject({ lost: 0, doubled: 0 });
        expect.soft(withIds, `node ${i}`).toMatchObject({ lost: 0, doubled: 0 });
        expect.soft(withIds.acknowledged).toBe(insisting.creates.length);
        if (i > 0) continue;
        figure(`Galera, ${fault}`, {
          ...ledger,
          bad: JSON.stringify(bad),
          'unavailable s': outageSeconds(callers.creates),
          'back after ms': back,
        });
        figure(`Galera, ${fault}, with request ids`, {
          ...withIds,
          'unavailable s': outageSeconds(insisting.creates),
        });
      }
      expect.soft(Object.keys(bad).filter((each) => !OUTAGE.includes(each))).toEqual([]);
    },
  );
});
