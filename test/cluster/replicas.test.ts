import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { query } from '../faults/rig/database-server.js';
import { needs } from '../support/needs.js';
import { throughPort } from '../support/tcp-proxy.js';
import { figure } from '../faults/rig/figures.js';
import { startProcess } from '../faults/rig/service-process.js';
import { readOwnWrites } from './rig/own-writes.js';
import { type Replication, startReplication } from './rig/replication.js';

const ROUTES = 2_000;
const LATE_S = 10;
/** Until the replica that is late has the table, in milliseconds. */
const CATCH_UP_MS = 60_000;

describe('on a primary with a replica, and another one that is 10 s late', needs('galera'), () => {
  let replication: Replication | undefined;

  beforeAll(async () => {
    replication = await startReplication(inject('galera').server, [0, LATE_S]);
  });

  afterAll(() => replication?.close());

  it('a route is there at once for another instance, also when a replica is killed', async () => {
    if (replication === undefined) throw new Error('The servers did not start.');
    const { primary, replicas } = replication;
    const url = await primary.createDatabase();
    const urls = replicas.map(({ port }) => throughPort(url, port));
    for (const each of urls) {
      await expect
        .poll(() => query(each, 'select 1 from routes limit 1').catch(() => undefined), {
          timeout: CATCH_UP_MS,
        })
        .toEqual([]);
    }
    const settings = { DATABASE_URL: url, DATABASE_REPLICA_URLS: urls.join(',') };
    const [first, second] = await Promise.all([startProcess(settings), startProcess(settings)]);
    const { p99Ms, ...counts } = await readOwnWrites({ first, second, routes: ROUTES }, async () => {
      await replicas[0]?.kill();
    });
    const late = await query(urls[1] ?? '', 'select count(*) as routes from routes');
    figure('replicas, one late and one killed: created on one instance and got on the other', {
      ...counts,
      'p99 ms': p99Ms,
      'of them on the late replica': Number(late[0]?.['routes']),
    });
    expect(counts).toEqual({ created: ROUTES, notFound: 0, failed: 0 });
  });
});
