import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { connect, constants } from 'node:http2';
import { connect as connectTcp, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { expect, it } from 'vitest';
import { httpRequest, reasonOf } from '../../../packages/transcoder/test/support/http-request.js';
import { firstBlock } from '../../../bench/load/hpack.js';
import { median } from '../../../bench/load/percentile.js';
import { rssMib } from '../../../bench/process-usage.js';
import { CreateRouteRequest } from '../../../src/gen/routing/v1/route_service.js';
import { FrameConnection } from '../../support/frame-connection.js';
import { ACK, DATA, grpcHead, uint32, PING, RST_STREAM, socketTo } from '../../support/http2-frames.js';
import { frameMessage, outcomeOf, requestOn } from '../../support/http2-call.js';
import { type MetricText, readMetrics } from '../../support/metric-text.js';
import { needs } from '../../support/needs.js';
import { errorInfoOf, richErrorOfReply } from '../../support/rich-error.js';
import { routeTo, tokenFor } from '../../support/service.js';
import { query } from '../rig/database-server.js';
import { figure } from '../rig/figures.js';
import { scale } from '../rig/scale.js';
import { databaseOnMysql, type ServiceProcess, startProcess } from '../rig/service-process.js';

/** What a client got: the code of a call or the status of a request, and why it failed. */
type End = readonly [code: string, reason?: string | undefined];
/** What a client does once, and how each of its calls or requests ends. */
type Act = (service: ServiceProcess) => Promise<readonly End[]>;

const OK: number = status.OK;
const WORKERS = 4;
const SAMPLES = 60;
/** The share of the time in which caches and pools fill and code is compiled. */
const WARM_UP = 0.3;
/** The database connections that the pool opens under the first load and keeps. */
const POOL = 12;
const CREATE = '/routing.v1.RouteService/CreateRoute';
const AUTHORIZATION = `Bearer ${tokenFor({ exp: Math.floor(Date.now() / 1_000) + 3_600 })}`;
const MESSAGE = frameMessage(
  CreateRouteRequest.encode({ route: routeTo('life'), requestId: '', validateOnly: false }).finish(),
);
const HEAD = firstBlock([...grpcHead(CREATE), ['authorization', AUTHORIZATION]]);
const PING_DATA = Buffer.alloc(8);
const BODY = JSON.stringify({ method: 'GET', path: '/life', handler: 'life' });

/**
 * Makes a call over a connection of its own: with so few waiting calls, a connection has one stream at a time, and Node
 * also counts one that has just ended.
 */
async function outcomeAlone(
  { grpc }: ServiceProcess,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: Buffer,
): ReturnType<typeof outcomeOf> {
  const session = connect(`http://${grpc}`).on('error', () => undefined);
  try {
    return await outcomeOf(requestOn(session, path, { authorization: AUTHORIZATION, ...headers }).end(body));
  } finally {
    session.destroy();
  }
}

/** A call whose outcome has the usual details. */
function calling(path: string, body: Buffer, headers: Readonly<Record<string, string>> = {}): Act {
  return async (service) => {
    const outcome = await outcomeAlone(service, path, headers, body);
    const failed = outcome.code !== OK;
    const reason = failed ? errorInfoOf(richErrorOfReply(outcome)).reason : undefined;
    return [[String(status[outcome.code]), reason]];
  };
}

/** A call that grpc-js itself ends, in its own words. */
function malformed(body: Buffer, reason: string): Act {
  return async (service) => {
    const { code } = await outcomeAlone(service, CREATE, { 'grpc-encoding': 'gzip' }, body);
    return [[String(status[code]), reason]];
  };
}

/** A call that is reset without an end, once the server has read the given part of it. Node's client would end it. */
function leavingCall(body: Buffer): Act {
  return ({ grpc }) =>
    new Promise((resolve) => {
      const socket = socketTo(grpc).on('error', () => undefined);
      let pings = 0;
      const connection = new FrameConnection(socket, {}, ({ type, flags }) => {
        if (type !== PING || (flags & ACK) === 0) return;
        pings += 1;
        if (pings === 1) connection.send(RST_STREAM, 0, 1, uint32(constants.NGHTTP2_CANCEL));
        else socket.destroy();
        connection.send(PING, 0, 0, PING_DATA);
      });
      socket.once('close', () => {
        resolve([['CANCELLED', 'CANCELLED']]);
      });
      connection.send(DATA, 0, connection.begin(HEAD), body);
      connection.send(PING, 0, 0, PING_DATA);
    });
}

async function ask(
  { http }: ServiceProcess,
  method: string,
  path: string,
  headers: object,
  body?: string,
): Promise<{ readonly end: End; readonly location: string | undefined }> {
  const response = await httpRequest(http, {
    method,
    path,
    headers: { authorization: AUTHORIZATION, 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { body }),
  });
  const reason = response.status < 400 ? undefined : String(reasonOf(response));
  return { end: [String(response.status), reason], location: response.headers.location };
}

function requesting(method: string, path: string, headers: object, body?: string): Act {
  return async (service) => [(await ask(service, method, path, headers, body)).end];
}

/** Creates a route and gets it. */
const createAndGet: Act = async (service) => {
  const created = await ask(service, 'POST', '/v1/routing', {}, BODY);
  if (created.location === undefined) return [created.end];
  return [created.end, (await ask(service, 'GET', created.location, {})).end];
};

/** Connections that end in the head of a request, which is none of HTTP/2 and an unfinished one of HTTP/1.1. */
const connecting: Act = async ({ grpc, http }) => {
  for (const target of [grpc, new URL(http).host]) {
    const socket = socketTo(target).on('error', () => undefined);
    socket.write('POST / HTTP/1.1\r\nhost: x');
    await sleep(5);
    socket.destroy();
  }
  return [['400', 'REQUEST_MALFORMED']];
};

/** An upload whose client leaves once the server waits for its body. */
function leavingUpload(leave: (socket: Socket) => void): Act {
  return async ({ http }) => {
    const { hostname, port } = new URL(http);
    const socket = connectTcp(Number(port), hostname).on('error', () => undefined);
    socket.write(
      `POST /v1/routing HTTP/1.1\r\nHost: x\r\nAuthorization: ${AUTHORIZATION}\r\nContent-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n`,
    );
    await once(socket, 'data');
    socket.write('{"method":');
    leave(socket);
    return [['499', 'CANCELLED']];
  };
}

const CALLS: readonly Act[] = [
  calling(CREATE, MESSAGE),
  calling(CREATE, MESSAGE, { authorization: 'Bearer x' }),
  calling(CREATE, MESSAGE, { 'grpc-timeout': '1n' }),
  calling(CREATE, MESSAGE, { 'x-auth-only': '1' }),
  calling(CREATE, frameMessage(Buffer.from('no message'))),
  calling(CREATE, Buffer.alloc(0)),
  calling(CREATE, frameMessage(Buffer.alloc(100_000))),
  calling('/routing.v1.RouteService/Nothing', MESSAGE),
  malformed(frameMessage(Buffer.alloc(200_000)), 'REQUEST_TOO_LARGE'),
  malformed(frameMessage(Buffer.from('no gzip'), true), 'REQUEST_MALFORMED'),
  leavingCall(MESSAGE),
  leavingCall(MESSAGE.subarray(0, 7)),
];
const REQUESTS: readonly Act[] = [
  createAndGet,
  connecting,
  requesting('POST', '/v1/routing', { authorization: '' }, BODY),
  requesting('POST', '/v1/routing', { 'request-timeout': '0.000001' }, BODY),
  requesting('POST', '/v1/routing', {}, '{"method":'),
  requesting('POST', '/v1/routing', {}, 'x'.repeat(100_000)),
  requesting('DELETE', '/v1/routing', {}),
  requesting('GET', '/v1/routing/nothing', {}),
  leavingUpload((socket) => socket.end()),
  leavingUpload((socket) => socket.resetAndDestroy()),
];

/** Lets clients act, one after the other, until the time is over. Counts what they got, as `code` and `code reason`. */
async function live(
  service: ServiceProcess,
  acts: readonly Act[],
  untilMs: number,
): Promise<Map<string, number>> {
  const ends = new Map<string, number>();
  const work = async (): Promise<void> => {
    while (performance.now() < untilMs) {
      for (const act of acts) {
        const keys = (await act(service)).flatMap(keysOf);
        for (const key of keys) ends.set(key, (ends.get(key) ?? 0) + 1);
      }
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, work));
  return ends;
}

/** What one end is counted under. A passed auth-only call is no refusal. */
function keysOf([code, reason]: End): string[] {
  const counted = reason === undefined || reason === 'GUARD_PASSED' ? [] : [`reason ${reason}`];
  return [code.replaceAll('_', '').toLowerCase(), ...counted];
}

/** The same counts as the metrics have them. */
function countsIn(
  metrics: MetricText,
  name: string,
  label: string,
  protocol: 'grpc' | 'rest',
): Map<string, number> {
  const counts = new Map<string, number>();
  const count = (sample: string, wanted: string, key: (value: string) => string): void => {
    const [, value] = new RegExp(`^${wanted}="(\\w+)"`).exec(sample) ?? [];
    const number = metrics.values.get(sample) ?? 0;
    if (value !== undefined && number > 0) counts.set(key(value), (counts.get(key(value)) ?? 0) + number);
  };
  for (const sample of metrics.values.keys()) {
    count(sample, `${name}{.*${label}`, (value) => value.toLowerCase().replace('canceled', 'cancelled'));
    count(
      sample,
      `route_registry_refusals_total{protocol="${protocol}",reason`,
      (value) => `reason ${value}`,
    );
  }
  return counts;
}

function openFiles({ pid }: ServiceProcess): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** The memory of the service in MiB and its open files, at even intervals once it is warm. */
async function samplesOf(service: ServiceProcess): Promise<{ memory: number[]; files: number[] }> {
  await sleep(WARM_UP * scale.soakMs);
  const samples = { memory: [] as number[], files: [] as number[] };
  for (let i = 0; i < SAMPLES; i++) {
    await sleep(((1 - WARM_UP) * scale.soakMs) / SAMPLES);
    samples.memory.push(rssMib(service.pid));
    samples.files.push(openFiles(service));
  }
  return samples;
}

/** The medians of the first third and the last third of the values. */
function thirds(values: readonly number[]): { first: number; last: number } {
  const size = Math.floor(values.length / 3);
  return { first: median(values.slice(0, size)), last: median(values.slice(-size)) };
}

it(
  'in a life of good, malformed, late, refused and cancelled calls, the metrics are what the clients got, and what was stored, and memory, handles and connections stay flat',
  { ...needs('server'), timeout: scale.soakMs + 60_000 },
  async () => {
    const url = await databaseOnMysql();
    const settings = {
      DATABASE_URL: url,
      // One call of a caller may wait, so that others are refused.
      MAX_WAITING_CALLS: '2',
      // Small enough to be full when the measurement begins, so that what grows then is a leak.
      ROUTE_CACHE_MIB: '1',
      NODE_OPTIONS: '--max-old-space-size=128 --max-semi-space-size=8',
    };
    const service = await startProcess(settings);
    const idleFiles = openFiles(service);
    const untilMs = performance.now() + scale.soakMs;
    const [calls, requests, { memory, files }] = await Promise.all([
      live(service, CALLS, untilMs),
      live(service, REQUESTS, untilMs),
      samplesOf(service),
    ]);
    const read = async (): Promise<object[]> => {
      const metrics = readMetrics(await (await fetch(`${service.ops}/metrics`)).text());
      return [
        countsIn(metrics, 'grpc_server_handled_total', 'grpc_code', 'grpc'),
        countsIn(metrics, 'http_server_request_duration_seconds_count', 'http_response_status_code', 'rest'),
      ].map((counts) => Object.fromEntries(counts));
    };
    const shown = (counts: Map<string, number>): string =>
      JSON.stringify(Object.fromEntries([...counts].sort()));
    const [mib, handles] = [thirds(memory), thirds(files)];
    const measured = {
      seconds: scale.soakMs / 1_000,
      calls: shown(calls),
      requests: shown(requests),
      'RSS MiB, first third': mib.first,
      'RSS MiB, last third': mib.last,
      'files, first third': handles.first,
      'files, last third': handles.last,
    };
    figure('a mixed life', measured);
    await expect.poll(read).toEqual([calls, requests].map((counts) => Object.fromEntries(counts)));
    expect([...calls.keys()]).toEqual(
      expect.arrayContaining(['cancelled', 'deadlineexceeded', 'aborted', 'resourceexhausted']),
    );
    expect([...requests.keys()]).toEqual(expect.arrayContaining(['200', '201', '400', '429', '499', '504']));
    const [row] = await query(url, 'select count(*) as routes from routes');
    expect(Number(row?.['routes'])).toBe((calls.get('ok') ?? 0) + (requests.get('201') ?? 0));
    const says = JSON.stringify(measured);
    expect.soft(mib.last, says).toBeLessThan(1.15 * mib.first + 10);
    expect.soft(handles.last, says).toBeLessThan(handles.first + 20);
    await expect.poll(() => openFiles(service)).toBeLessThanOrEqual(idleFiles + POOL);
  },
);
