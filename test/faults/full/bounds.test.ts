import { expect, it } from 'vitest';
import { rssMib } from '../../../bench/process-usage.js';
import { GetRouteRequest } from '../../../src/gen/routing/v1/route_service.js';
import { WATCH_PATH } from '../../../src/grpc/health.js';
import { REFLECTION_PATHS } from '../../../src/grpc/reflection.js';
import { readConfig } from '../../../src/settings/config.js';
import { tokenFor } from '../../support/service.js';
import type { BoundAttack } from '../programs/bound-attack.js';
import { figure } from '../rig/figures.js';
import { peakMib, startProgram } from '../rig/load-process.js';
import { type ServiceProcess, startProcess } from '../rig/service-process.js';

/** What compose, Kubernetes and systemd give the service, in MiB. */
const MEMORY_MIB = 1_024;
const { maxCalls, maxConnections } = readConfig({}).limits;
/** The streams that each of this many connections may have. */
const MANY = { connections: 128, streams: 128 };
const CREATE = '/routing.v1.RouteService/CreateRoute';
const GET = '/routing.v1.RouteService/GetRoute';
const CHECK = '/grpc.health.v1.Health/Check';
const [REFLECTION = ''] = REFLECTION_PATHS;
/** `file_containing_symbol` of a ServerReflectionRequest, for the largest file with all that it imports. */
const LARGEST_FILE = Buffer.concat([Buffer.from([0x22, 23]), Buffer.from('routing.v1.RouteService')]);

/** Creates a route of nearly 64 KiB, and returns the message that asks for it. */
async function largestRoute({ http }: ServiceProcess): Promise<Uint8Array> {
  const response = await fetch(`${http}/v1/routing`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tokenFor()}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      method: 'GET',
      path: '/largest',
      middleware: Array<string>(64).fill('\u{1F600}'.repeat(250)),
      handler: 'h',
    }),
  });
  const { id } = (await response.json()) as { id: string };
  expect(response.status).toBe(201);
  return GetRouteRequest.encode({ routeId: id }).finish();
}

/** The most memory that the service has during an attack and just after it, in MiB. */
async function memoryUnder(
  attack: Partial<BoundAttack> & Pick<BoundAttack, 'name' | 'path'>,
  messageFor: (service: ServiceProcess) => Promise<Uint8Array> | Uint8Array = () => Buffer.alloc(0),
): Promise<number> {
  const service = await startProcess({ DATABASE_URL: 'sqlite::memory:' });
  const message = Buffer.from(await messageFor(service)).toString('base64');
  const before = rssMib(service.pid);
  const all = {
    grpc: service.grpc,
    token: tokenFor({ sub: 'attacker' }),
    message,
    ...MANY,
    durationMs: 5_000,
  };
  const { mib } = await peakMib(
    service.pid,
    startProgram('bound-attack', { ...all, ...attack }).message('done'),
  );
  const { name, path } = attack;
  figure(`${name}, ${path}`, { 'RSS MiB before': before, 'at most': mib });
  return mib;
}

it.each([
  [CREATE, maxCalls / 2],
  [CHECK, maxCalls / 8],
  [WATCH_PATH, 1_024],
])('messages of 64 KiB whose every byte comes in a full read fit the memory: %s', async (path, calls) => {
  const connections = calls / MANY.streams;
  expect(await memoryUnder({ name: 'bytes in junk', path, connections })).toBeLessThan(MEMORY_MIB / 2);
});

it('so do those behind an answer that is not taken', async () => {
  const attack = { name: 'bytes in junk after an untaken answer', path: REFLECTION, connections: 8 } as const;
  expect(await memoryUnder(attack, () => LARGEST_FILE)).toBeLessThan(MEMORY_MIB / 2);
});

it.each([CREATE, CHECK])('half-sent messages of 64 KiB fit the memory: %s', async (path) => {
  expect(await memoryUnder({ name: 'halves', path })).toBeLessThan(MEMORY_MIB / 2);
});

it.each([
  [MANY.connections, MANY.streams],
  [maxConnections, 2],
])('answers of 64 KiB that nobody takes fit the memory: %d connections', async (connections, streams) => {
  const attack = { name: 'untaken answers', path: GET, connections, streams } as const;
  expect(await memoryUnder(attack, largestRoute)).toBeLessThan(MEMORY_MIB);
});

it.each([
  [MANY.connections, MANY.streams],
  [maxConnections, 2],
])('as many streams as a client can open fit the memory: %d connections', async (connections, streams) => {
  const attack = { name: 'heads', path: CREATE, token: '', connections, streams } as const;
  expect(await memoryUnder(attack)).toBeLessThan(MEMORY_MIB);
});
