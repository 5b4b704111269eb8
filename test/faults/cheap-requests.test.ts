import { generateKeyPairSync } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { connect } from 'node:http2';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { expect, inject, it, onTestFinished } from 'vitest';
import { median } from '../../bench/load/percentile.js';
import { cpuMs } from '../../bench/process-usage.js';
import { frameMessage, outcomeOf, requestOn } from '../support/http2-call.js';
import { post } from '../support/requests.js';
import { tokenFor } from '../support/service.js';
import type { AttackRequest, RestAttack } from './programs/rest-attack.js';
import { figure } from './rig/figures.js';
import { shareOf } from './rig/kept.js';
import { startProgram } from './rig/load-process.js';
import { type ServiceProcess, startProcess } from './rig/service-process.js';

const WATCH = '/grpc.health.v1.Health/Watch';
const REFLECTION = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
const LIST_SERVICES = frameMessage(Buffer.from([0x3a, 0x00]));
/** How often each kind of request is made for a measurement: enough for the clock of processor time, which counts 10 ms. */
const TIMES = { plain: 2_000, odd: 200 };
/** How often it is made before the first: Node compiles what runs often, which takes seconds. */
const WARM_UP = { plain: 10_000, odd: 400 };

/** A key of the algorithm that takes the service the longest to verify. */
function es384() {
  const { publicKey, privateKey: key } = generateKeyPairSync('ec', { namedCurve: 'P-384' });
  return { publicKey, signing: { key, algorithm: 'ES384', keyid: 'main' } } as const;
}

const ES384 = es384();

function getting(path: string, token: string): AttackRequest {
  return { path, headers: { authorization: `Bearer ${token}` } };
}

function creating(body: string): AttackRequest {
  const headers = {
    authorization: `Bearer ${tokenFor({ sub: 'attacker' })}`,
    'content-type': 'application/json',
  };
  return { path: '/v1/routing', method: 'POST', headers, body };
}

/** What one client sends again and again. */
interface Cost {
  readonly what: string;
  /** Requests a second. */
  readonly rate: number;
  readonly request: AttackRequest;
  /** The most plain gets that one of them may cost. */
  readonly most: number;
  /** The key that the service trusts; default: the secret of the tests. */
  readonly key?: ReturnType<typeof es384>;
}

const COSTS: readonly Cost[] = [
  {
    what: 'tokens of 8 KiB of dots',
    most: 3,
    rate: 300,
    request: getting('/v1/routing/x', '.'.repeat(8_192)),
  },
  {
    what: 'targets of 2,047 percent signs',
    rate: 300,
    most: 3,
    request: getting(`/v1/routing/${'%'.repeat(2_047)}`, ''),
  },
  {
    what: 'creates of a path of 2,047 percent signs, with a token',
    rate: 300,
    most: 6,
    request: creating(JSON.stringify({ method: 'GET', path: `/${'%'.repeat(2_047)}`, handler: 'h' })),
  },
  {
    what: 'bodies of 64 KiB of numbers, with a token',
    rate: 60,
    most: 30,
    request: creating(`[${'1,'.repeat(32_700)}1]`),
  },
  {
    what: 'bodies of 6,000 unknown fields, with a token',
    rate: 60,
    most: 30,
    request: creating(`{${Array.from({ length: 6_000 }, (_, i) => `"f${i}":1`).join(',')}}`),
  },
  {
    what: 'forged tokens for a key of ES384',
    rate: 200,
    most: 12,
    key: ES384,
    request: getting('/v1/routing/x', tokenFor({}, es384().signing)),
  },
  {
    what: 'requests for the largest page',
    rate: 389,
    most: 8,
    request: { path: '/docs/swagger-ui.js', headers: { 'accept-encoding': 'identity' } },
  },
];

/** Creates a route over REST. @returns its id */
async function created({ http }: ServiceProcess, token: string): Promise<string> {
  const response = await post({ httpUrl: http }, undefined, { authorization: `Bearer ${token}` });
  return ((await response.json()) as { id: string }).id;
}

async function start(settings: Readonly<Record<string, string>> = {}): Promise<ServiceProcess> {
  return startProcess({ DATABASE_URL: 'sqlite::memory:', ...settings });
}

/** The settings of a service that trusts a public key. */
async function trusting({ publicKey }: ReturnType<typeof es384>): Promise<Readonly<Record<string, string>>> {
  const file = join(inject('temporaryFolder'), 'es384.pem');
  await writeFile(file, publicKey.export({ type: 'spki', format: 'pem' }));
  return { JWT_SECRET: '', JWT_PUBLIC_KEY_FILE: file };
}

it.each(COSTS)('one of $rate $what a second costs no more than $most plain gets', async (cost) => {
  const { what, rate, request: odd, most, key } = cost;
  const service = await start(key && (await trusting(key)));
  const token = tokenFor({}, key?.signing);
  const routeId = await created(service, token);
  /** How many requests are answered in a millisecond of processor time, which a busy machine hardly changes. */
  const perMs = async (request: AttackRequest, times: number): Promise<number> => {
    const { grpc, http, ops, pid } = service;
    const to = { grpc, http: new URL(http).host, ops, token, connections: 8, durationMs: 0 };
    const attack: RestAttack = { ...to, name: 'a client makes requests', times, request };
    const before = cpuMs(pid);
    await startProgram('rest-attack', attack).message('done');
    return times / (cpuMs(pid) - before);
  };
  const plain = getting(`/v1/routing/${routeId}`, token);
  await perMs(plain, WARM_UP.plain);
  await perMs(odd, WARM_UP.odd);
  const share = await shareOf(
    1 / most,
    () => perMs(plain, TIMES.plain),
    () => perMs(odd, TIMES.odd),
  );
  const [plainMs, oddMs] = [1 / median(share.plain), 1 / median(share.odd)];
  const left = (ms: number): number => Math.max(0, 1 - (rate * ms) / 1_000);
  figure(`${rate} ${what} a second`, {
    'ms each': oddMs,
    'ms of a plain get': plainMs,
    'others keep': left(oddMs) / left(plainMs),
  });
  expect(share.kept, JSON.stringify(share)).toBeGreaterThanOrEqual(1 / most);
});

/** Makes a call over a new connection. @returns its code, or undefined if the connection is closed */
async function callAlone(grpc: string, path: string, body: Buffer): Promise<number | undefined> {
  const session = connect(`http://${grpc}`).on('error', () => undefined);
  try {
    return (await outcomeOf(requestOn(session, path).end(body))).code;
  } catch {
    return undefined;
  } finally {
    session.destroy();
  }
}

it.each([
  ['health watches', WATCH, frameMessage(new Uint8Array())],
  ['reflection calls', REFLECTION, LIST_SERVICES],
])(
  'one connection with as many %s as it may have leaves reflection to others',
  async (what, path, message) => {
    const service = await start();
    const hog = connect(`http://${service.grpc}`).on('error', () => undefined);
    onTestFinished(() => {
      hog.destroy();
    });
    for (let count = 0; count < 300; count++) {
      const stream = requestOn(hog, path).on('error', () => undefined);
      stream.resume().write(message);
      if (path === WATCH) stream.end();
    }
    await sleep(200);
    const codes: unknown[] = [];
    for (let count = 0; count < 50; count++)
      codes.push(await callAlone(service.grpc, REFLECTION, LIST_SERVICES));
    figure(`reflection beside ${what} of one connection`, { answered: codes.length });
    expect(new Set(codes)).toEqual(new Set([status.OK]));
  },
);
