import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { expect, inject, it } from 'vitest';
import { Code } from '../../packages/transcoder/src/gen/google/rpc/code_pb.js';
import { httpRequest } from '../../packages/transcoder/test/support/http-request.js';
import { unpackFiles } from '../support/debian-packages.js';
import { freePort } from '../support/free-port.js';
import { needs, programPath } from '../support/needs.js';
import { ETCD_REQUESTS, type EtcdRequest } from './etcd-requests.js';
import { buildDescriptorSet, GOOGLE_FILES } from './rig/descriptor-set.js';
import { README, startReadmeCommand } from './rig/readme-command.js';
import { startProgram } from './rig/started-program.js';

/** What a client sees of a response. */
interface Seen {
  readonly status: number;
  /** The JSON values of a success, without what is chosen at random. */
  readonly values?: readonly unknown[];
  /** The code and the text of a failure that etcd itself has answered. Gateways have words of their own. */
  readonly code?: number | undefined;
  readonly text?: string;
}

/** The fields that differ between two etcds with the same content. */
const RANDOM = new Set(['token', 'blob', 'remaining_bytes', 'dbSize', 'dbSizeInUse', 'hash']);

/** Sends the requests one after the other. */
async function answersOf(origin: string): Promise<Seen[]> {
  const seen: Seen[] = [];
  let token = '';
  for (const request of ETCD_REQUESTS) {
    const { status, text } = await (request.endless ? firstLine : httpRequest)(origin, sent(request, token));
    const values = jsonValues(text);
    token = values.map((value) => (value as { token?: string }).token).find(Boolean) ?? token;
    seen.push(status === 200 ? { status, values: values.map(constant) } : { status, ...failure(values) });
  }
  return seen;
}

function sent({ path, method = 'POST', headers = {}, body = '', token }: EtcdRequest, known: string) {
  const all = { 'Content-Type': 'application/json', ...headers, ...(token && { [token]: known }) };
  return {
    method,
    path: `/v3${path}`,
    headers: Object.fromEntries(Object.entries(all).filter(([, value]) => value !== '')),
    body: typeof body === 'string' ? body : JSON.stringify(body),
  };
}

/** Sends a request, and leaves after the first line of its response. */
async function firstLine(origin: string, { path, ...init }: ReturnType<typeof sent>) {
  const response = await fetch(origin + path, init);
  let text = '';
  const decoder = new TextDecoder();
  for await (const piece of response.body as ReadableStream<Uint8Array>) {
    text += decoder.decode(piece, { stream: true });
    if (text.includes('\n')) break;
  }
  return { status: response.status, text };
}

/** The values in a body: lines of JSON, each whole. */
function jsonValues(text: string): object[] {
  try {
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as object);
  } catch {
    return [];
  }
}

/** A value with its random fields replaced. */
function constant(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (key, field: unknown) => (RANDOM.has(key) ? typeof field : field)),
  ) as unknown;
}

/** The failure in a body, in the shape of grpc-gateway 1 or of AIP-193, if etcd itself has answered it. */
function failure([value = {}]: readonly object[]): Pick<Seen, 'code' | 'text'> {
  const { error, code, message } = value as { error?: unknown; code?: number; message?: string };
  const own =
    typeof error === 'object' ? (error as { status: keyof typeof Code; message: string }) : undefined;
  const text = String(own?.message ?? message);
  return text.startsWith('etcdserver: ') ? { code: own === undefined ? code : Code[own.status], text } : {};
}

/** Starts an etcd without data. Another one that uses the same ports later has the same ids. */
async function startEtcd(client: number, peer: number) {
  const folder = await mkdtemp(join(inject('temporaryFolder'), 'etcd-'));
  const [clients, peers] = [`http://127.0.0.1:${client}`, `http://127.0.0.1:${peer}`];
  const args = [
    ...['--data-dir', join(folder, 'data'), '--unsafe-no-fsync', '--log-level', 'error'],
    ...['--listen-client-urls', clients, '--advertise-client-urls', clients],
    ...['--listen-peer-urls', peers, '--initial-advertise-peer-urls', peers],
    ...['--initial-cluster', `default=${peers}`],
  ];
  const at = { host: '127.0.0.1', port: client };
  return startProgram(programPath('etcd'), args, { cwd: folder, at });
}

it(
  'etcd answers through the command as through its own gateway, but for what is named',
  needs('etcd'),
  async () => {
    const root = await unpackFiles(['golang-etcd-server-dev', 'golang-github-gogo-protobuf-dev']);
    const go = join(root, 'usr/share/gocode/src');
    const etcd = join(go, 'go.etcd.io/etcd');
    const folder = await mkdtemp(join(inject('temporaryFolder'), 'etcd-contract-'));
    const set = await buildDescriptorSet(folder, {
      'etcd/etcdserver/etcdserverpb/rpc.proto': join(etcd, 'etcdserver/etcdserverpb/rpc.proto'),
      'etcd/auth/authpb/auth.proto': join(etcd, 'auth/authpb/auth.proto'),
      'etcd/mvcc/mvccpb/kv.proto': join(etcd, 'mvcc/mvccpb/kv.proto'),
      'gogoproto/gogo.proto': join(go, 'github.com/gogo/protobuf/gogoproto/gogo.proto'),
      'google/api/annotations.proto': join(GOOGLE_FILES, 'google/api/annotations.proto'),
      'google/api/http.proto': join(GOOGLE_FILES, 'google/api/http.proto'),
    });
    const [client, peer] = [await freePort(), await freePort()];
    const first = await startEtcd(client, peer);
    const expected = await answersOf(`http://127.0.0.1:${client}`);
    await first.stop();
    await startEtcd(client, peer);
    const origin = await startReadmeCommand('etcd', `127.0.0.1:${client}`, set);
    const answered = await answersOf(origin);
    const differing = ETCD_REQUESTS.filter((_, at) => !isDeepStrictEqual(answered[at], expected[at]));
    expect(differing).toEqual(ETCD_REQUESTS.filter(({ differs }) => differs !== undefined));
    const alike = ETCD_REQUESTS.length - differing.length;
    expect(README.replace(/\s+/g, ' ')).toContain(
      `${alike} of ${ETCD_REQUESTS.length} requests are answered`,
    );
  },
);
