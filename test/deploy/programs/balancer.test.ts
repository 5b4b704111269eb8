import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { credentials } from '@grpc/grpc-js';
import { expect, it, onTestFinished } from 'vitest';
import { RouteServiceClient } from '../../../src/gen/routing/v1/route_service.js';
import { runHaproxy } from '../../faults/rig/haproxy.js';
import { databaseOnMysql, startProcess } from '../../faults/rig/service-process.js';
import { freePort } from '../../support/free-port.js';
import { needs } from '../../support/needs.js';
import { get, metadataOf, tokenFor } from '../../support/service.js';

const FILE = resolve(import.meta.dirname, '../../../deploy/haproxy/haproxy.cfg');
/** Of the containers. */
const GRPC_PORT = '50051';
/** Until HAProxy has seen that a server is there: rise × inter, and a second. */
const SEEN_MS = 3_000;
const UNKNOWN_ID = '01a1f941-715b-7593-b057-19259d7b5bfc';

interface Ports {
  readonly grpc: number;
  readonly http: number;
  readonly ops: number;
}

async function freePorts(): Promise<Ports> {
  return { grpc: await freePort(), http: await freePort(), ops: await freePort() };
}

/** The configuration with the addresses of this test in place of those of containers. */
async function configurationFor(own: Ports, servers: Readonly<Record<string, Ports>>): Promise<string> {
  const text = await readFile(FILE, 'utf8');
  const portOf = (ports: Ports, port: string): number => (port === GRPC_PORT ? ports.grpc : ports.http);
  return text
    .replace(/^( *bind ):(\d+)/gm, (_, bind: string, port: string) => `${bind}127.0.0.1:${portOf(own, port)}`)
    .replace(
      /^( *server \S+ )(\S+):(\d+)(.*)$/gm,
      (_, server: string, host: string, port: string, rest: string) => {
        const ports = servers[host];
        if (ports === undefined) throw new Error(`The test has no server ${host}.`);
        return `${server}127.0.0.1:${portOf(ports, port)}${rest} port ${ports.ops}`;
      },
    );
}

it(
  'HAProxy shares calls among two servers, and takes one that stops out before it fails any',
  needs('server', 'haproxy'),
  async () => {
    const url = await databaseOnMysql();
    const own = await freePorts();
    const ports = { 'route-registry': await freePorts(), 'route-registry-2': await freePorts() };
    const settings = Object.values(ports).map(({ grpc, http, ops }) => ({
      DATABASE_URL: url,
      GRPC_ADDRESS: `127.0.0.1:${grpc}`,
      HTTP_ADDRESS: `127.0.0.1:${http}`,
      OPS_ADDRESS: `127.0.0.1:${ops}`,
      DRAIN_DELAY_MS: '2500',
    }));
    const servers = await Promise.all(settings.map((each) => startProcess(each)));
    await runHaproxy(await configurationFor(own, ports), own.grpc);
    const client = new RouteServiceClient(`127.0.0.1:${own.grpc}`, credentials.createInsecure());
    onTestFinished(() => {
      client.close();
    });
    await sleep(SEEN_MS);

    const headers = { authorization: `Bearer ${tokenFor()}` };
    const ends: string[] = [];
    const ask = async (): Promise<void> => {
      const [rest, grpc] = await Promise.all([
        fetch(`http://127.0.0.1:${own.http}/v1/routing/${UNKNOWN_ID}`, { headers }),
        get(client, UNKNOWN_ID, metadataOf(tokenFor())),
      ]);
      ends.push(`${rest.status} ${grpc.error?.code ?? 0}`);
    };
    for (let i = 0; i < 20; i++) await ask();
    const faces = servers.map(({ program }) => new Set(program.lines().map(({ face }) => face)));
    expect(faces).toEqual([new Set([undefined, 'rest', 'grpc']), new Set([undefined, 'rest', 'grpc'])]);

    const stopping = servers[0]?.program.stop();
    const stopped = new AbortController();
    void stopping?.then(() => {
      stopped.abort();
    });
    while (!stopped.signal.aborted) await ask();
    await expect(stopping).resolves.toMatchObject({ exitCode: 0 });
    for (let i = 0; i < 20; i++) await ask();
    // That route is not there: NOT_FOUND.
    expect(new Set(ends)).toEqual(new Set(['404 5']));
  },
);
