import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseEnv } from 'node:util';
import { credentials } from '@grpc/grpc-js';
import { expect, it, onTestFinished } from 'vitest';
import { RouteServiceClient } from '../../../src/gen/routing/v1/route_service.js';
import { runHaproxy } from '../../faults/rig/haproxy.js';
import { databaseOnMysql, startProcess } from '../../faults/rig/service-process.js';
import { freePort } from '../../support/free-port.js';
import { needs } from '../../support/needs.js';
import { get, metadataOf, tokenFor } from '../../support/service.js';

const FOLDER = resolve(import.meta.dirname, '../../../deploy');
/** The ports that are shipped, of HAProxy and of both instances. */
const PORT = /(?<=:|port )\d{4,5}\b/g;
/** Until HAProxy has seen that a server is there: rise × inter, and a second. */
const SEEN_MS = 3_000;
const UNKNOWN_ID = '01a1f941-715b-7593-b057-19259d7b5bfc';

/** The settings that the template of systemd gives an instance. */
async function settingsOf(instance: number): Promise<string> {
  const unit = await readFile(join(FOLDER, 'systemd/route-registry@.service'), 'utf8');
  const lines = unit.matchAll(/^Environment=(\w+_ADDRESS.*)$/gm);
  return Array.from(lines, ([, pairs = '']) => pairs.replaceAll('%i', String(instance))).join(' ');
}

/** The configuration for two instances on one machine, as docs/operations.md makes it. */
async function configuration(): Promise<string> {
  const text = await readFile(join(FOLDER, 'haproxy/haproxy.cfg'), 'utf8');
  return text.replace(/^.* route-registry[^ ]*:.*\n/gm, '').replaceAll('# server', 'server');
}

/** Texts with a free port in place of each that is shipped, the same one in all of them. */
async function onFreePorts(texts: readonly string[]): Promise<string[]> {
  const free = new Map<string, number>();
  for (const [port] of texts.join('\n').matchAll(PORT)) if (!free.has(port)) free.set(port, await freePort());
  return texts.map((text) => text.replaceAll(PORT, (port) => String(free.get(port))));
}

it(
  'HAProxy shares calls among two instances, and takes one that stops out before it fails any',
  needs('server', 'haproxy'),
  async () => {
    const shipped = [await configuration(), 'http://127.0.0.1:8080', '127.0.0.1:50051'];
    const instances = [await settingsOf(1), await settingsOf(2)];
    const [cfg = '', http = '', grpc = '', ...own] = await onFreePorts([...shipped, ...instances]);
    const settings = { DATABASE_URL: await databaseOnMysql(), DRAIN_DELAY_MS: '2500' };
    const servers = await Promise.all(
      own.map((addresses) => startProcess({ ...settings, ...parseEnv(addresses.replaceAll(' ', '\n')) })),
    );
    await runHaproxy(cfg.replaceAll('bind :', 'bind 127.0.0.1:'), Number(grpc.split(':')[1]));
    const client = new RouteServiceClient(grpc, credentials.createInsecure());
    onTestFinished(() => {
      client.close();
    });
    await sleep(SEEN_MS);

    const headers = { authorization: `Bearer ${tokenFor()}` };
    const ends: string[] = [];
    const ask = async (): Promise<void> => {
      const [rest, grpc] = await Promise.all([
        fetch(`${http}/v1/routing/${UNKNOWN_ID}`, { headers }),
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
