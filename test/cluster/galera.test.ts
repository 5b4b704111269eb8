import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { acknowledgedAgain } from '../faults/rig/answers-again.js';
import { Callers, type Create, isGood, summary } from '../faults/rig/callers.js';
import { needs, suppliedGalera } from '../support/needs.js';
import { throughPort } from '../support/tcp-proxy.js';
import { figure } from '../faults/rig/figures.js';
import { startInstances } from '../faults/rig/haproxy.js';
import { type Ledger, ledgerOf } from '../faults/rig/ledger.js';
import { type DatabaseBalancer, startDatabaseBalancer } from './rig/database-balancer.js';
import { type GaleraNode, startGalera } from './rig/galera-node.js';

const POLL_MS = 100;
/** How long nodes may take to form one cluster again, in milliseconds: more than it takes to copy all data to one. */
const JOIN_MS = 60_000;
/** How long the load runs before and after a fault, in milliseconds. */
const LOAD_MS = 2_000;
/**
 * The failures that are allowed while the writer is unavailable. The service sends Retry-After with every 503. A 503
 * without it comes from HAProxy, while both instances wait.
 */
const OUTAGE = ['503', '503 without Retry-After', '504', 'UNAVAILABLE', 'DEADLINE_EXCEEDED'];

/**
 * Waits until all nodes are synced members of one cluster and report the same view. A node that was frozen still reports
 * itself as a member for a while, but with an outdated view.
 */
async function wholeCluster(nodes: readonly GaleraNode[]): Promise<void> {
  const views = async (): Promise<string[]> => [
    ...new Set(await Promise.all(nodes.map((node) => node.view().catch(String)))),
  ];
  await expect
    .poll(views, { timeout: JOIN_MS })
    .toEqual([expect.stringMatching(new RegExp(`^Primary, ${nodes.length} nodes, view .*, Synced$`))]);
}

/** The longest time without an acknowledged create, in seconds. */
function outageSeconds(creates: readonly Create[]): number {
  const times = creates.filter(({ end }) => isGood(end)).map(({ endedAt }) => endedAt);
  const sorted = times.sort((a, b) => a - b);
  const gaps = sorted.slice(1).map((time, i) => time - (sorted[i] ?? time));
  return Math.max(0, ...gaps) / 1_000;
}

describe('the service on three Galera nodes behind HAProxy', needs('galera', 'haproxy'), () => {
  let nodes: readonly GaleraNode[] = [];

  beforeAll(async () => {
    nodes = await startGalera(suppliedGalera());
  });

  afterEach(async () => {
    for (const node of nodes) await node.heal();
    await wholeCluster(nodes);
  });

  afterAll(() => Promise.all(nodes.map((node) => node.close())));

  function node(index: number): GaleraNode {
    const found = nodes[index];
    if (found === undefined) throw new Error(`There is no node ${index}.`);
    return found;
  }

  /** Starts two instances on a new database, which is on whichever node takes the writes. */
  async function start(): Promise<{
    url: string;
    database: DatabaseBalancer;
    service: { readonly grpc: string; readonly http: string };
  }> {
    const url = await node(0).createDatabase();
    const database = await startDatabaseBalancer(nodes);
    const service = await startInstances({
      DATABASE_URL: throughPort(url, database.writerPort),
      DATABASE_WAIT_MS: '20000',
    });
    return { url, database, service };
  }

  /** The ledger of a node. Gives the node time to apply everything that it has received. */
  async function waitForLedger(there: string, creates: readonly Create[]): Promise<Ledger> {
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
      fault: 'another node becomes the writer, then the first one again',
      begin: (database) => database.moveWriterFrom(0),
      end: (database) => database.allowWriter(0),
    },
  ];

  it.each(faults)(
    'neither loses nor duplicates an acknowledged create when $fault',
    async ({ fault, begin, end }) => {
      const { url, database, service } = await start();
      const callers = new Callers({ ...service, each: 4 });
      const insisting = new Callers({ ...service, each: 4, insist: true });
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
      const ledgers: Record<'ledger' | 'withIds', Ledger>[] = [];
      for (const [i, node] of nodes.entries()) {
        const there = throughPort(url, node.port);
        const ledger = await waitForLedger(there, callers.creates);
        const withIds = await waitForLedger(there, insisting.creates);
        expect.soft(ledger, `node ${i}`).toMatchObject({ lost: 0, doubled: 0 });
        expect.soft(withIds, `node ${i}`).toMatchObject({ lost: 0, doubled: 0 });
        expect.soft(withIds.acknowledged).toBe(insisting.creates.length);
        ledgers.push({ ledger, withIds });
      }
      figure(`Galera, ${fault}`, {
        ...ledgers[0]?.ledger,
        bad: JSON.stringify(bad),
        'unavailable s': outageSeconds(callers.creates),
        'back after ms': back,
      });
      figure(`Galera, ${fault}, with request ids`, {
        ...ledgers[0]?.withIds,
        'unavailable s': outageSeconds(insisting.creates),
      });
      expect.soft(Object.keys(bad).filter((end) => !OUTAGE.includes(end))).toEqual([]);
    },
  );
});
