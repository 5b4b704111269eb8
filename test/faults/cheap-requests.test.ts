import { generateKeyPairSync } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, inject, it } from 'vitest';
import { median } from '../../bench/load/percentile.js';
import { cpuMs } from '../../bench/process-usage.js';
import { post } from '../support/requests.js';
import { tokenFor } from '../support/service.js';
import type { AttackRequest, RestAttack } from './programs/rest-attack.js';
import { figure } from './rig/figures.js';
import { shareOf } from './rig/kept.js';
import { startProgram } from './rig/load-process.js';
import { type ServiceProcess, startProcess } from './rig/service-process.js';

/** How often each kind of request is made for a measurement: enough for the clock of processor time, which counts 10 ms. */
const REPEATS = { plain: 2_000, odd: 200 };
/** How often it is made before the first measurement: Node compiles what runs often, which takes seconds. */
const WARM_UP = { plain: 10_000, odd: 400 };

/** A key of the algorithm that takes the service the longest to verify. */
function es384() {
  const { publicKey, privateKey: key } = generateKeyPairSync('ec', { namedCurve: 'P-384' });
  return { publicKey, signing: { key, algorithm: 'ES384', keyid: 'main' } } as const;
}

const ES384 = es384();

function getOf(path: string, token: string): AttackRequest {
  return { path, headers: { authorization: `Bearer ${token}` } };
}

function createOf(body: string): AttackRequest {
  const headers = {
    authorization: `Bearer ${tokenFor({ sub: 'attacker' })}`,
    'content-type': 'application/json',
  };
  return { path: '/v1/routing', method: 'POST', headers, body };
}

/** What one client sends again and again. */
interface Cost {
  readonly what: string;
  readonly request: AttackRequest;
  /** The most plain gets that one of them may cost. */
  readonly most: number;
  /** How many of them are supposed to arrive in a second, for the figure of what others keep. */
  readonly rate: number;
  /** The key that the service trusts; default: the secret of the tests. */
  readonly key?: ReturnType<typeof es384>;
}

const COSTS: readonly Cost[] = [
  {
    what: 'tokens of 8 KiB of dots',
    request: getOf('/v1/routing/x', '.'.repeat(8_192)),
    most: 3,
    rate: 300,
  },
  {
    what: 'targets of 2,047 percent signs',
    request: getOf(`/v1/routing/${'%'.repeat(2_047)}`, ''),
    most: 3,
    rate: 300,
  },
  {
    what: 'creates of a path of 2,047 percent signs, with a token',
    request: createOf(JSON.stringify({ method: 'GET', path: `/${'%'.repeat(2_047)}`, handler: 'h' })),
    most: 6,
    rate: 300,
  },
  {
    what: 'bodies of 64 KiB of numbers, with a token',
    request: createOf(`[${'1,'.repeat(32_700)}1]`),
    most: 20,
    rate: 60,
  },
  {
    what: 'bodies of 6,000 unknown fields, with a token',
    request: createOf(`{${Array.from({ length: 6_000 }, (_, i) => `"f${i}":1`).join(',')}}`),
    most: 30,
    rate: 60,
  },
  {
    what: 'forged tokens for a key of ES384',
    request: getOf('/v1/routing/x', tokenFor({}, es384().signing)),
    most: 12,
    rate: 200,
    key: ES384,
  },
  {
    what: 'requests for the largest page',
    request: { path: '/docs/swagger-ui.js', headers: { 'accept-encoding': 'identity' } },
    most: 8,
    // Pages of 1.75 MB: 680 MB a second.
    rate: 389,
  },
];

/** The settings of a service that trusts a public key. */
async function settingsTrusting({
  publicKey,
}: ReturnType<typeof es384>): Promise<Readonly<Record<string, string>>> {
  const file = join(inject('temporaryFolder'), 'es384.pem');
  await writeFile(file, publicKey.export({ type: 'spki', format: 'pem' }));
  return { JWT_SECRET: '', JWT_PUBLIC_KEY_FILE: file };
}

/** The get of a route that it creates. */
async function plainGet({ http }: ServiceProcess, token: string): Promise<AttackRequest> {
  const response = await post({ httpUrl: http }, undefined, { authorization: `Bearer ${token}` });
  const { id } = (await response.json()) as { id: string };
  return getOf(`/v1/routing/${id}`, token);
}

/** How many requests are answered in a millisecond of processor time, which a busy machine hardly changes. */
async function requestsPerMs(
  { http, grpc, ops, pid }: ServiceProcess,
  request: AttackRequest,
  times: number,
): Promise<number> {
  const attack: RestAttack = {
    name: 'a client makes requests',
    http: new URL(http).host,
    grpc,
    ops,
    token: '',
    connections: 8,
    durationMs: 0,
    times,
    request,
  };
  const before = cpuMs(pid);
  await startProgram('rest-attack', attack).message('done');
  return times / (cpuMs(pid) - before);
}

/** The part of its processor time that so many requests a second leave to others. */
function leftBeside(rate: number, msEach: number): number {
  return Math.max(0, 1 - (rate * msEach) / 1_000);
}

it.each(COSTS)('one of $what costs no more than $most plain gets', async (cost) => {
  const { what, request: odd, most, rate, key } = cost;
  const service = await startProcess({
    DATABASE_URL: 'sqlite::memory:',
    ...(key && (await settingsTrusting(key))),
  });
  const plain = await plainGet(service, tokenFor({}, key?.signing));
  await requestsPerMs(service, plain, WARM_UP.plain);
  await requestsPerMs(service, odd, WARM_UP.odd);

  const least = 1 / most;
  const share = await shareOf(
    least,
    () => requestsPerMs(service, plain, REPEATS.plain),
    () => requestsPerMs(service, odd, REPEATS.odd),
  );
  const plainMs = 1 / median(share.plain);
  const oddMs = 1 / median(share.odd);
  figure(`${rate} ${what} a second`, {
    'ms each': oddMs,
    'ms of a plain get': plainMs,
    'others keep': leftBeside(rate, oddMs) / leftBeside(rate, plainMs),
  });
  expect(share.kept, JSON.stringify(share)).toBeGreaterThanOrEqual(least);
});
