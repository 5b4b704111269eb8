import { X509Certificate } from 'node:crypto';
import { credentials } from '@grpc/grpc-js';
import { expect, it, onTestFinished, vi } from 'vitest';
import { RouteServiceClient } from '../../src/gen/routing/v1/route_service.js';
import { createAuthority } from '../support/certificates.js';
import { MountedFiles } from '../support/mounted-files.js';
import { type Program, Programs } from '../support/process.js';
import {
  create,
  get,
  metadataOf,
  type Outcome,
  routeTo,
  SERVICE_SETTINGS,
  tokenFor,
} from '../support/service.js';
import { secureGet, shakeHands } from '../support/tls-client.js';

/** Connections made at once; which workers take them is up to chance. */
const CONNECTIONS = 8;
/** Until something has happened, also where other tests run, in milliseconds. */
const PATIENCE = { timeout: 60_000 };
vi.setConfig({ testTimeout: 2 * PATIENCE.timeout });

const authority = createAuthority();
const [first, second] = [authority.issue(), authority.issue()];

/** Starts two workers with the pair. */
function run(files: MountedFiles): Program {
  const programs = new Programs();
  onTestFinished(() => programs.end());
  return programs.start('main', [], {
    ...SERVICE_SETTINGS,
    OPS_ADDRESS: 'off',
    WORKERS: '2',
    TLS_CERT_FILE: files.path('cert'),
    TLS_KEY_FILE: files.path('key'),
  });
}

/** Does something over each of several new connections. */
function often<T>(each: () => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: CONNECTIONS }, each));
}

/** The numbers of the workers that have such lines. */
function workersWith(program: Program, isMeant: (line: Record<string, unknown>) => boolean): unknown[] {
  const lines = program.lines().filter(isMeant);
  return [...new Set(lines.map(({ worker }) => worker))].sort();
}

it('two workers speak TLS on both faces, and each of them renews its certificate', async () => {
  const files = new MountedFiles({ ...first });
  const service = run(files);
  const { grpc, http } = (await service.line('listening')) as unknown as { grpc: string; http: string };
  const token = tokenFor();
  const overGrpc = async (call: (client: RouteServiceClient) => Promise<Outcome>): Promise<string> => {
    const options = { 'grpc.use_local_subchannel_pool': 1 };
    const client = new RouteServiceClient(grpc, credentials.createSsl(Buffer.from(authority.cert)), options);
    const { route } = await call(client);
    client.close();
    return route?.id ?? '';
  };
  const request = { route: routeTo('h'), requestId: '', validateOnly: false };
  const id = await overGrpc((client) => create(client, request, metadataOf(token)));
  expect(id).not.toBe('');
  const ids: string[] = [];
  const called = async (): Promise<unknown[]> => {
    ids.push(...(await often(() => overGrpc((client) => get(client, id, metadataOf(token))))));
    return workersWith(service, ({ requestId }) => requestId !== undefined);
  };
  await expect.poll(called, PATIENCE).toEqual([1, 2]);
  expect(new Set(ids)).toEqual(new Set([id]));

  const seenOverRest = async (): Promise<string> => {
    const options = { ca: authority.cert, headers: { authorization: `Bearer ${token}` } };
    const { status, serialNumber } = await secureGet(`${http}/v1/routing/${id}`, options);
    expect(status).toBe(200);
    return serialNumber;
  };
  const seenOverGrpc = async (): Promise<string> => {
    const socket = await shakeHands(grpc, { ca: authority.cert, ALPNProtocols: ['h2'] });
    return socket.getPeerCertificate().serialNumber;
  };
  const seen = async (): Promise<Set<string>> =>
    new Set([...(await often(seenOverRest)), ...(await often(seenOverGrpc))]);
  await expect(seen()).resolves.toEqual(new Set([new X509Certificate(first.cert).serialNumber]));
  files.swap({ ...second });
  const renewed = (): unknown[] => workersWith(service, ({ msg }) => msg === 'TLS files renewed');
  await expect.poll(renewed, PATIENCE).toEqual([1, 2]);
  await expect(seen()).resolves.toEqual(new Set([new X509Certificate(second.cert).serialNumber]));
});
