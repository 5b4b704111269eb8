import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { needs } from '../../support/needs.js';
import { proxyDatabase } from '../../support/tcp-proxy.js';
import { acknowledgedAgain } from '../rig/answers-again.js';
import { Callers, summary } from '../rig/callers.js';
import { type DatabaseServer, startDatabaseServer } from '../rig/database-server.js';
import { figure } from '../rig/figures.js';
import { ledgerOf } from '../rig/ledger.js';
import { scale } from '../rig/scale.js';
import { startProcess } from '../rig/service-process.js';

const FAULT_MS = 1_000;
/** The outcomes of calls that are allowed while the database cannot serve. */
const OUTAGE = ['503', '504', 'UNAVAILABLE', 'DEADLINE_EXCEEDED'];

let server: DatabaseServer;

beforeAll(async () => {
  server = await startDatabaseServer();
});

afterEach(() => server.heal());

afterAll(() => server.close());

interface Fault {
  readonly fault: string;
  readonly begin: (url: string) => Promise<void> | void;
  readonly end: (url: string) => Promise<void> | void;
}

const FAULTS: readonly Fault[] = [
  {
    fault: 'killed and restarted',
    begin: () => server.kill(),
    end: () => server.start(),
  },
  {
    fault: 'frozen for a while',
    begin: () => {
      server.freeze();
    },
    end: () => {
      server.thaw();
    },
  },
  {
    fault: 'on a full disk for a while',
    begin: (url) => server.fillDisk(url),
    end: (url) => server.freeDisk(url),
  },
  {
    fault: 'read-only for a while',
    begin: async () => {
      await server.query('set global read_only = 1');
    },
    end: async () => {
      await server.query('set global read_only = 0');
    },
  },
];

it.each(FAULTS)(
  'with a database that is $fault, no acknowledged create is lost or stored twice',
  needs('mariadbd'),
  async ({ fault, begin, end }) => {
    const url = await server.createDatabase();
    const service = await startProcess({ DATABASE_URL: url });
    const callers = new Callers({ ...service, each: 4 });
    const insisting = new Callers({ ...service, each: 4, insist: true });
    const outages: number[] = [];
    for (let kill = 0; kill < scale.kills; kill++) {
      await sleep(500);
      await begin(url);
      await sleep(FAULT_MS);
      await end(url);
      outages.push(await acknowledgedAgain(callers));
    }
    const ledger = await ledgerOf(url, await callers.stop());
    const withIds = await ledgerOf(url, await insisting.stop());
    const { bad } = summary(callers.creates);
    figure(`database ${fault}`, {
      ...ledger,
      bad: JSON.stringify(bad),
      'back after ms': Math.max(...outages),
    });
    figure(`database ${fault}, with request ids`, {
      ...withIds,
      bad: JSON.stringify(summary(insisting.creates).bad),
    });
    expect.soft(ledger).toMatchObject({ lost: 0, doubled: 0 });
    expect.soft(withIds).toMatchObject({ acknowledged: insisting.creates.length, lost: 0, doubled: 0 });
    expect.soft(Object.keys(bad).filter((end) => !OUTAGE.includes(end))).toEqual([]);
    expect.soft(ledger.acknowledged).toBeGreaterThan(0);
  },
);

it(
  'when the network to the database is cut, no acknowledged create is lost or stored twice',
  needs('mariadbd'),
  async () => {
    const url = await server.createDatabase();
    const { proxy, url: proxied } = await proxyDatabase(url);
    const service = await startProcess({ DATABASE_URL: proxied, DEADLINE_MS: '1000' });
    const callers = new Callers({ ...service, each: 4, insist: true });
    await sleep(500);
    proxy.loseConnections();
    const back = await acknowledgedAgain(callers);
    const ledger = await ledgerOf(url, await callers.stop());
    figure('network to the database cut', { ...ledger, 'back after ms': back });
    expect(ledger).toMatchObject({ lost: 0, doubled: 0 });
  },
);

it(
  'calls fail as unavailable or late while the database is out of connections, and succeed afterwards',
  needs('mariadbd'),
  async () => {
    const url = await server.createDatabase();
    const service = await startProcess({ DATABASE_URL: url });
    const release = await server.takeConnections(url);
    const callers = new Callers({ ...service, each: 2 });
    await sleep(1_000);
    const during = summary(callers.creates);
    await release();
    const back = await acknowledgedAgain(callers);
    const ledger = await ledgerOf(url, await callers.stop());
    figure('database out of connections', {
      bad: JSON.stringify(during.bad),
      'back after ms': back,
      ...ledger,
    });
    expect.soft(Object.keys(during.bad).filter((end) => !OUTAGE.includes(end))).toEqual([]);
    expect.soft(Object.keys(during.bad)).not.toEqual([]);
    expect(ledger).toMatchObject({ lost: 0, doubled: 0 });
  },
);
