import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { GrpcConnection, grpcMessage, grpcPath } from '../../../bench/load/grpc-connection.js';
import type { Field } from '../../../bench/load/hpack.js';
import { percentile } from '../../../bench/load/percentile.js';
import { CreateRouteRequest, GetRouteRequest } from '../../../src/gen/routing/v1/route_service.js';
import { frameMessage } from '../../support/http2-call.js';
import { grpcHead } from '../../support/http2-frames.js';
import type { Load, LoadResult } from './load-messages.js';

const OK: number = status.OK;
const REFUSED: number = status.RESOURCE_EXHAUSTED;
/** The code of a call without a response. */
const NOT_ANSWERED = 103;
/** How long to wait for responses after the last call, in milliseconds: longer than a call may take. */
const PATIENCE_MS = 8_000;
/** The route of repeats, duplicates and dry runs. */
const SAME = {
  id: '',
  method: 'GET',
  path: '/same/:id',
  middleware: ['authenticate'],
  handler: 'same',
  createdAt: undefined,
};

/** The load program: a separate process that takes a load as its argument and prints the result. */
async function main(): Promise<void> {
  const load = JSON.parse(process.argv[2] ?? '') as Load;
  const { first = randomInt(2 ** 32) * 2 ** 20 } = load;
  const statuses: number[] = [];
  const good: number[] = [];
  const refused: number[] = [];
  const start = performance.now();
  const end = start + load.durationMs;
  let ended = 0;
  let goodInTime = 0;
  let turn = 0;

  const due = (): number => {
    const elapsedMs = Math.min(performance.now() - start, load.durationMs);
    return load.rate === undefined ? Number.POSITIVE_INFINITY : Math.floor((load.rate / 1_000) * elapsedMs);
  };
  /** Sends the calls that are due and have room. The others wait, as in the queues of real clients. */
  const pump = (): void => {
    if (performance.now() >= end) return;
    const wanted = due();
    for (let full = 0; statuses.length < wanted && full < connections.length;) {
      const connection = connections[turn++ % connections.length];
      if (connection === undefined || statuses.length - ended >= load.callers) return;
      if (connection.hasRoom) {
        full = 0;
        call(connection);
      } else full++;
    }
  };
  const call = (connection: GrpcConnection): void => {
    const message = messageOf(load, first + statuses.length);
    const index = statuses.push(NOT_ANSWERED) - 1;
    const sentAt = performance.now();
    const leave = connection.call(message, (code) => {
      clearTimeout(leaving);
      ended++;
      statuses[index] = code;
      if (code === OK) good.push(performance.now() - sentAt);
      if (code === OK && performance.now() < end) goodInTime++;
      if (code === REFUSED) refused.push(performance.now() - sentAt);
    });
    const leaving = load.leaveAfterMs === undefined ? undefined : setTimeout(leave, load.leaveAfterMs);
  };
  const connections = Array.from(
    { length: load.connections },
    (_, n) =>
      new GrpcConnection(load.target, fieldsOf(load, n), {
        onRoom: pump,
        heedless: load.heedless,
        readsFailures: true,
      }),
  );

  while (performance.now() < end) {
    pump();
    await sleep(1);
  }
  for (let waited = 0; ended < statuses.length && waited < PATIENCE_MS; waited += 10) await sleep(10);
  const ends: Record<number, number> = {};
  for (const code of statuses) ends[code] = (ends[code] ?? 0) + 1;
  const result: LoadResult = {
    due: Math.min(due(), Number.MAX_SAFE_INTEGER),
    sent: statuses.length,
    goodRate: goodInTime / (load.durationMs / 1_000),
    ends,
    goodP99Ms: p99Of(good),
    refusedP99Ms: p99Of(refused),
    leastStreamLimit: Math.min(...connections.map(({ maxStreams }) => maxStreams)),
    first,
    statuses: Buffer.from(statuses).toString('base64'),
  };
  process.stdout.write(`${JSON.stringify({ msg: 'measured', ...result })}\n`, () => process.exit(0));
}

function p99Of(times: readonly number[]): number {
  return times.length === 0 ? 0 : percentile(Float64Array.from(times).sort(), 99);
}

function fieldsOf(
  { target, operation, token: onlyToken, tokens = [onlyToken], timeoutMs }: Load,
  connection: number,
): Field[] {
  const token = tokens[connection % tokens.length] ?? onlyToken;
  const path = grpcPath(operation === 'get' ? 'get' : 'create');
  const fields: Field[] = [...grpcHead(path, target), ['authorization', `Bearer ${token}`]];
  if (timeoutMs !== undefined) fields.push(['grpc-timeout', `${timeoutMs}m`]);
  return fields;
}

/** The length-prefixed message of the n-th call. */
function messageOf({ operation, ids, repeatEach }: Load, n: number): Buffer {
  if (operation === 'get') {
    return frameMessage(GetRouteRequest.encode({ routeId: ids[n % ids.length] ?? '' }).finish());
  }
  const repeats = repeatEach !== undefined && n % repeatEach === 0;
  if (operation === 'create' && !repeats) return grpcMessage('create', n);
  if (operation === 'keyed create' || operation === 'hedged create') {
    const path = `/keyed/${operation === 'keyed create' ? n : Math.floor(n / 2)}`;
    const request = { route: { ...SAME, path }, requestId: path, validateOnly: false };
    return frameMessage(CreateRouteRequest.encode(request).finish());
  }
  const keys: Partial<Record<Load['operation'], string>> = {
    repeat: 'repeat',
    'keyed duplicate': `key-${n}`,
  };
  const requestId = repeats ? 'repeat' : (keys[operation] ?? '');
  const validateOnly = operation === 'dry run';
  return frameMessage(CreateRouteRequest.encode({ route: SAME, requestId, validateOnly }).finish());
}

await main();
