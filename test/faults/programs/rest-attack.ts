import { once } from 'node:events';
import type { Socket } from 'node:net';
import { connect } from 'node:http2';
import { connect as connectSecurely } from 'node:tls';
import { setTimeout as sleep } from 'node:timers/promises';
import { requestOn } from '../../support/http2-call.js';
import { socketTo } from '../../support/http2-frames.js';

/** An attack with more requests than any client needs. */
export interface RestAttack {
  readonly name: keyof typeof ATTACKS;
  /** `host:port` of the gRPC server and of the REST gateway. */
  readonly grpc: string;
  readonly http: string;
  /** The URL of the pages for operators. */
  readonly ops: string;
  readonly token: string;
  readonly connections: number;
  /** How long the attack lasts after its requests are sent, in milliseconds. */
  readonly durationMs: number;
  /** How many requests are made in all, one after the other for each connection. */
  readonly times?: number;
  readonly request?: AttackRequest;
}

/** A request that is made again and again. */
export interface AttackRequest {
  readonly path: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const CREATE = '/routing.v1.RouteService/CreateRoute';
/** The most requests that a connection may have under way. */
const PIPELINED = 100;

function create(...lines: string[]): string {
  return [
    'POST /v1/routing HTTP/1.1',
    'Host: service',
    'Content-Type: application/json',
    ...lines,
    '\r\n',
  ].join('\r\n');
}

function quiet<Any extends Socket>(socket: Any): Any {
  return socket.on('error', () => undefined);
}

/** Requests a page several times on each TLS connection, reads no response, and counts the connections left open. */
async function untaken({ http, connections, durationMs }: RestAttack, times: number): Promise<number> {
  const [host = '', port] = http.split(':');
  const sockets = Array.from({ length: connections }, async () => {
    const socket = quiet(connectSecurely({ host, port: Number(port), rejectUnauthorized: false }));
    await once(socket, 'secureConnect');
    socket.write('GET /docs/swagger-ui.js HTTP/1.1\r\nHost: service\r\n\r\n'.repeat(times));
    return socket;
  });
  const asked = await Promise.all(sockets);
  await sleep(durationMs);
  return asked.filter((socket) => !socket.destroyed).length;
}

/** The attacks by name. Each returns a count of its connections or requests. */
const ATTACKS = {
  'unauthenticated clients do not read a page': (attack: RestAttack) => untaken(attack, 1),
  'unauthenticated clients request many pages and do not read them': (attack: RestAttack) =>
    untaken(attack, PIPELINED),
  /** Opens streams and connections, each with an unfinished create. */
  async 'a caller sends half bodies'({ grpc, http, token, connections, durationMs }: RestAttack) {
    const authorization = `Bearer ${token}`;
    const half = Buffer.from([0, 0, 0, 0, 9]);
    for (let i = 0; i < connections; i++) {
      const session = connect(`http://${grpc}`).on('error', () => undefined);
      for (let j = 0; j < 100; j++) {
        requestOn(session, CREATE, { authorization })
          .on('error', () => undefined)
          .write(half);
        quiet(socketTo(http)).write(create('Content-Length: 9', `Authorization: ${authorization}`));
      }
    }
    await sleep(durationMs);
    return connections * 100;
  },
  /** Requests the metrics again and again, and counts the responses. */
  async 'clients request the metrics'({ ops, connections, durationMs }: RestAttack) {
    const until = performance.now() + durationMs;
    let answered = 0;
    const loop = async (): Promise<void> => {
      for (; performance.now() < until; answered++) await (await fetch(`${ops}/metrics`)).arrayBuffer();
    };
    await Promise.all(Array.from({ length: connections }, loop));
    return answered;
  },
  /** Makes the same request again and again. */
  async 'a client makes requests'({ http, connections, times = 0, request: sent }: RestAttack) {
    const { path = '', ...request } = sent ?? {};
    let count = 0;
    const loop = async (): Promise<void> => {
      while (count++ < times) await (await fetch(`http://${http}${path}`, request)).arrayBuffer();
    };
    await Promise.all(Array.from({ length: connections }, loop));
    return times;
  },
  /** Sends creates that never end, in chunks of one byte. */
  async 'a caller sends single bytes'({ http, token, connections, durationMs }: RestAttack) {
    const head = create('Transfer-Encoding: chunked', `Authorization: Bearer ${token}`);
    const sent = Buffer.from(head + '1\r\nx\r\n'.repeat(60_000));
    for (let i = 0; i < connections; i++) quiet(socketTo(http)).write(sent);
    await sleep(durationMs);
    return connections;
  },
};

const attack = JSON.parse(process.argv[2] ?? '') as RestAttack;
const count = await ATTACKS[attack.name](attack);
process.stdout.write(`${JSON.stringify({ msg: 'done', count })}\n`, () => process.exit(0));
