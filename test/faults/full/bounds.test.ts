import { credentials, Metadata } from '@grpc/grpc-js';
import { expect, it } from 'vitest';
import { rssMib } from '../../../bench/process-usage.js';
import {
  GetRouteRequest,
  type Route,
  RouteServiceClient,
} from '../../../src/gen/routing/v1/route_service.js';
import { readConfig } from '../../../src/settings/config.js';
import { tokenFor } from '../../support/service.js';
import { secureClient } from '../../support/tls-set.js';
import type { BoundAttack } from '../programs/bound-attack.js';
import { figure } from '../rig/figures.js';
import { peakMib, startProgram } from '../rig/load-process.js';
import { startProcess, tlsSettings } from '../rig/service-process.js';

/** The memory limit of the service in compose, Kubernetes and systemd, in MiB. */
const MEMORY_MIB = 1_024;
const { maxConnections } = readConfig({}).limits;
/** The streams that each connection may open when there are this many connections. */
const MANY = { connections: 128, streams: 128 };
const CREATE = '/routing.v1.RouteService/CreateRoute';
const GET = '/routing.v1.RouteService/GetRoute';

/** Creates a route of nearly 64 KiB, and returns the message of a get for it. */
async function largestRoute(client: RouteServiceClient): Promise<Uint8Array> {
  const middleware = Array<string>(64).fill('\u{1F600}'.repeat(250));
  const route = { id: '', method: 'GET', path: '/largest', middleware, handler: 'h', createdAt: undefined };
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${tokenFor()}`);
  const { id } = await new Promise<Route>((resolve, reject) => {
    client.createRoute({ route, requestId: '', validateOnly: false }, metadata, (error, created) => {
      if (error === null) resolve(created);
      else reject(error);
    });
  });
  return GetRouteRequest.encode({ routeId: id }).finish();
}

/** Exhausts one limit, and returns the peak memory of the service meanwhile, in MiB. */
async function memoryUnder(
  attack: Partial<BoundAttack> & Pick<BoundAttack, 'name' | 'path'>,
  messageFor: (client: RouteServiceClient) => Promise<Uint8Array> | Uint8Array = () => Buffer.alloc(0),
  limits: Readonly<Record<string, string>> = {},
): Promise<number> {
  const { name, path, connections = MANY.connections, tls = false } = attack;
  const settings = { DATABASE_URL: 'sqlite::memory:', MAX_CONNECTIONS: String(connections), ...limits };
  const service = await startProcess(tls ? { ...settings, ...(await tlsSettings()) } : settings);
  const { grpc, pid } = service;
  const client = tls
    ? secureClient(grpc)
    : new RouteServiceClient(grpc, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
  const message = Buffer.from(await messageFor(client)).toString('base64');
  client.close();
  const before = rssMib(pid);
  const all = { grpc, tls, token: tokenFor({ sub: 'attacker' }), message, ...MANY, durationMs: 3_000 };
  const { mib } = await peakMib(pid, startProgram('bound-attack', { ...all, ...attack }).message('done'));
  figure(`${name}, ${path}, ${connections} connections${tls ? ' with TLS' : ''}`, {
    'RSS MiB before': before,
    'at most': mib,
  });
  return mib;
}

it('half-sent messages of 64 KiB fit in half of the memory limit', async () => {
  expect(await memoryUnder({ name: 'halfMessages', path: CREATE })).toBeLessThan(MEMORY_MIB / 2);
});

it.each([
  { connections: MANY.connections, streams: MANY.streams, tls: false, most: MEMORY_MIB },
  { connections: maxConnections, streams: 2, tls: true, most: MEMORY_MIB },
  // The settings that operations.md advises for half of the memory, with the young generation of such a container.
  {
    connections: 2_000,
    streams: 4,
    tls: true,
    limits: { MAX_CALLS: '1024', NODE_OPTIONS: '--max-semi-space-size=8' },
    most: MEMORY_MIB / 2,
  },
])(
  'unread responses of 64 KiB fit in memory: $connections connections, TLS $tls',
  async ({ most, limits = {}, ...attack }) => {
    const mib = await memoryUnder({ name: 'unread responses', path: GET, ...attack }, largestRoute, limits);
    expect(mib).toBeLessThan(most);
  },
);

it('as many streams as a client can open fit in memory', async () => {
  const attack = { name: 'heads', path: CREATE, token: '', connections: maxConnections, streams: 2 } as const;
  expect(await memoryUnder(attack)).toBeLessThan(MEMORY_MIB);
});
