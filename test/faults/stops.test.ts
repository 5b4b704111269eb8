import { once } from 'node:events';
import { statSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:http2';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, inject, it, onTestFinished } from 'vitest';
import { frameMessage, requestOn } from '../support/http2-call.js';
import { tokenFor } from '../support/service.js';
import { figure } from './rig/figures.js';
import { type ServiceProcess, startProcess } from './rig/service-process.js';

const REFLECTION = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
/** An empty message, which every method accepts. */
const EMPTY = frameMessage(new Uint8Array());

let files = 0;

async function start(
  settings: Readonly<Record<string, string>> = {},
): Promise<{ service: ServiceProcess; file: string }> {
  const file = join(inject('temporaryFolder'), `stops-${process.pid}-${files++}.db`);
  return { service: await startProcess({ DATABASE_URL: `sqlite:${file}`, ...settings }), file };
}

/** @param halfClosed whether the client ends its request, which a method with a single request message waits for */
async function openStream({ grpc }: ServiceProcess, path: string, halfClosed: boolean): Promise<void> {
  const session = connect(`http://${grpc}`).on('error', () => undefined);
  onTestFinished(() => {
    session.destroy();
  });
  const stream = requestOn(session, path).on('error', () => undefined);
  stream.resume().write(EMPTY);
  if (halfClosed) stream.end();
  await once(stream, 'response');
}

async function stallUpload({ http }: ServiceProcess): Promise<void> {
  const headers = {
    authorization: `Bearer ${tokenFor()}`,
    'content-type': 'application/json',
    'content-length': 1_000,
    expect: '100-continue',
  };
  const upload = request(`${http}/v1/routing`, { method: 'POST', agent: false, headers });
  upload.on('error', () => undefined).flushHeaders();
  await once(upload, 'continue');
  upload.write('{');
  onTestFinished(() => {
    upload.destroy();
  });
}

async function openSilently({ http }: ServiceProcess): Promise<void> {
  const response = await fetch(`${http}/healthz`);
  await response.arrayBuffer();
}

it.each([
  {
    open: 'health watch',
    begin: (service: ServiceProcess) => openStream(service, '/grpc.health.v1.Health/Watch', true),
  },
  { open: 'reflection stream', begin: (service: ServiceProcess) => openStream(service, REFLECTION, false) },
  { open: 'idle HTTP connection', begin: openSilently },
])('a stop with an open $open takes less than a second', async ({ open, begin }) => {
  const { service } = await start();
  await begin(service);
  const begun = performance.now();
  const { exitCode } = await service.program.stop();
  const ms = performance.now() - begun;
  figure(`stop with an open ${open}`, { ms });
  expect.soft(exitCode).toBe(0);
  expect(ms).toBeLessThan(1_000);
});

it('a stop with a stalled upload ends within the grace period of six seconds', async () => {
  const { service } = await start();
  await stallUpload(service);
  const begun = performance.now();
  const { exitCode } = await service.program.stop();
  const ms = performance.now() - begun;
  figure('stop with a stalled upload', { ms });
  expect(exitCode).toBe(0);
  expect(ms).toBeLessThan(7_000);
});

it.each(['SIGTERM', 'SIGINT'] as const)(
  'a second %s right after the first changes nothing',
  async (signal) => {
    const { service, file } = await start();
    process.kill(service.pid, signal);
    await sleep(2);
    const { exitCode } = await service.program.stop(signal);
    expect(exitCode).toBe(0);
    expect(statSync(`${file}-wal`).size).toBe(0);
  },
);
