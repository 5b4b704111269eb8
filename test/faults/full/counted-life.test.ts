import { once } from 'node:events';
import { connect, constants } from 'node:http2';
import { connect as connectTcp, type Socket } from 'node:net';
import { status } from '@grpc/grpc-js';
import { expect, it } from 'vitest';
import { httpRequest, reasonOf } from '../../../packages/transcoder/test/support/http-request.js';
import { firstBlock } from '../../../bench/load/hpack.js';
import { CreateRouteRequest } from '../../../src/gen/routing/v1/route_service.js';
import { FrameConnection } from '../../support/frame-connection.js';
import { ACK, DATA, grpcHead, number, PING, RST_STREAM, socketTo } from '../../support/http2-frames.js';
import { framed, outcomeOf, requestOn } from '../../support/http2-call.js';
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
type Act = (service: ServiceProcess) => Promise<End>;

const OK: number = status.OK;
const WORKERS = 4;
const CREATE = '/routing.v1.RouteService/CreateRoute';
const AUTHORIZATION = `Bearer ${tokenFor({ exp: Math.floor(Date.now() / 1_000) + 3_600 })}`;
const MESSAGE = framed(
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
    return [String(status[outcome.code]), failed ? errorInfoOf(richErrorOfReply(outcome)).reason : undefined];
  };
}

/** A call that grpc-js itself ends, in its own words. */
function malformed(body: Buffer, reason: string): Act {
  return async (service) => {
    const { code } = await outcomeAlone(service, CREATE, { 'grpc-encoding': 'gzip' }, body);
    return [String(status[code]), reason];
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
        if (pings === 1) connection.send(RST_STREAM, 0, 1, number(constants.NGHTTP2_CANCEL));
        else socket.destroy();
        connection.send(PING, 0, 0, PING_DATA);
      });
      socket.once('close', () => {
        resolve(['CANCELLED', 'CANCELLED']);
      });
      connection.send(DATA, 0, connection.begin(HEAD), body);
      connection.send(PING, 0, 0, PING_DATA);
    });
}

function requesting(method: string, path: string, headers: object, body?: string): Act {
  return async ({ http }) => {
    const response = await httpRequest(http, {
      method,
      path,
      headers: { authorization: AUTHORIZATION, 'content-type': 'application/json', ...headers },
      ...(body !== undefined && { body }),
    });
    return [String(response.status), response.status < 400 ? undefined : String(reasonOf(response))];
  };
}

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
    return ['499', 'CANCELLED'];
  };
}

const CALLS: readonly Act[] = [
  calling(CREATE, MESSAGE),
  calling(CREATE, MESSAGE, { authorization: 'Bearer x' }),
  calling(CREATE, MESSAGE, { 'grpc-timeout': '1n' }),
  calling(CREATE, MESSAGE, { 'x-guard-only': '1' }),
  calling(CREATE, framed(Buffer.from('no message'))),
  calling(CREATE, Buffer.alloc(0)),
  calling(CREATE, framed(Buffer.alloc(100_000))),
  calling('/routing.v1.RouteService/Nothing', MESSAGE),
  malformed(framed(Buffer.alloc(200_000)), 'REQUEST_TOO_LARGE'),
  malformed(framed(Buffer.from('no gzip'), true), 'REQUEST_MALFORMED'),
  leavingCall(MESSAGE),
  leavingCall(MESSAGE.subarray(0, 7)),
];
const REQUESTS: readonly Act[] = [
  requesting('POST', '/v1/routing', {}, BODY),
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
        for (const key of keysOf(await act(service))) ends.set(key, (ends.get(key) ?? 0) + 1);
      }
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, work));
  return ends;
}

/** What one end is counted under. A passed guard-only call is no refusal. */
function keysOf([code, reason]: End): string[] {
  const counted = reason === undefined || reason === 'GUARD_PASSED' ? [] : [`reason ${reason}`];
  return [code.replaceAll('_', '').toLowerCase(), ...counted];
}

/** The same counts as the metrics have them. */
function counted(
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

it(
  'in a life of good, malformed, late, refused and cancelled calls, the metrics are what the clients got, and what was stored',
  { ...needs('server'), timeout: scale.soakMs + 60_000 },
  async () => {
    const url = await databaseOnMysql();
    // One call of a caller may wait, so that others are refused.
    const service = await startProcess({ DATABASE_URL: url, MAX_WAITING_CALLS: '2' });
    const untilMs = performance.now() + scale.soakMs;
    const [calls, requests] = await Promise.all([
      live(service, CALLS, untilMs),
      live(service, REQUESTS, untilMs),
    ]);
    const read = async (): Promise<object[]> => {
      const metrics = readMetrics(await (await fetch(`${service.ops}/metrics`)).text());
      return [
        counted(metrics, 'grpc_server_handled_total', 'grpc_code', 'grpc'),
        counted(metrics, 'http_server_request_duration_seconds_count', 'http_response_status_code', 'rest'),
      ].map((each) => Object.fromEntries(each));
    };
    const shown = (counts: Map<string, number>): string =>
      JSON.stringify(Object.fromEntries([...counts].sort()));
    figure('a mixed life', {
      seconds: scale.soakMs / 1_000,
      calls: shown(calls),
      requests: shown(requests),
    });
    await expect.poll(read).toEqual([calls, requests].map((each) => Object.fromEntries(each)));
    expect([...calls.keys()]).toEqual(
      expect.arrayContaining(['cancelled', 'deadlineexceeded', 'aborted', 'resourceexhausted']),
    );
    expect([...requests.keys()]).toEqual(expect.arrayContaining(['201', '400', '429', '499', '504']));
    const [row] = await query(url, 'select count(*) as routes from routes');
    expect(Number(row?.['routes'])).toBe((calls.get('ok') ?? 0) + (requests.get('201') ?? 0));
  },
);
