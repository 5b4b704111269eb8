import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { credentials, Metadata, status } from '@grpc/grpc-js';
import type { UnaryCall } from '@route-registry/transcoder';
import { grpcUpstream } from '@route-registry/transcoder/grpc-js';
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import type { Call } from '../../src/calls/call.js';
import { memoryUpstream, now, onWallClock } from '../../src/gateway/upstream.js';
import { createGateway } from '../../src/gateway/gateway.js';
import { descriptorSet } from '../../src/gen/descriptor-set.js';
import { type GrpcReply, listen } from '../../packages/transcoder/test/support/grpc-server.js';
import { listening } from '../../packages/transcoder/test/support/opening.js';
import { PATH, unaryCall } from '../../packages/transcoder/test/support/unary-call.js';

const DEADLINE_MS = 60_000;
const HOUR_MS = 3_600_000;
const BODY = '{"method":"GET","path":"/","handler":"h"}';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
});

function jump(ms: number): void {
  vi.setSystemTime(Date.now() + ms);
}

it.each([HOUR_MS, -HOUR_MS])(
  'a call in the same process keeps its deadline when the wall clock jumps by %i ms before its body arrives',
  async (ms) => {
    const asked: Call[] = [];
    const upstream = memoryUpstream((call) => {
      asked.push(call);
      return {
        code: status.OK,
        details: '',
        message: new Uint8Array(),
        trailers: new Metadata(),
      };
    });
    const ignore = (): void => undefined;
    const { onRequest, onCheckContinue } = createGateway({
      descriptorSet,
      upstream,
      basePath: '',
      deadlineMs: DEADLINE_MS,
      maxBodyBytes: 65_536,
      maxRequests: 1,
      realm: 'registry',
      corsOrigins: [],
      pages: [],
      log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
    });
    const origin = await listening(createServer(onRequest).on('checkContinue', onCheckContinue));
    const headers = { 'content-type': 'application/json', expect: '100-continue' };
    const begun = performance.now();
    const upload = request(`${origin}/v1/routing`, { method: 'POST', agent: false, headers });
    upload.flushHeaders();
    await once(upload, 'continue');
    jump(ms);
    upload.end(BODY);
    await once(upload, 'response');
    expect(asked).toHaveLength(2);
    for (const { deadline } of asked) {
      expect(deadline).toBeGreaterThanOrEqual(begun + DEADLINE_MS - 1);
      expect(deadline).toBeLessThanOrEqual(performance.now() + DEADLINE_MS);
    }
  },
);

it.each([HOUR_MS, -HOUR_MS])(
  'a call to another process keeps its deadline when the wall clock has jumped by %i ms since the start',
  async (ms) => {
    jump(ms);
    const unary = ({ deadline }: UnaryCall): GrpcReply => ({
      code: status.NOT_FOUND,
      details: String(deadline),
      answered: true,
      trailers: new Metadata(),
    });
    const server = await listen({ unary }, [PATH]);
    const channel = grpcUpstream(server.address, { credentials: credentials.createInsecure() });
    const upstream = onWallClock(channel);
    onTestFinished(() => {
      channel.close();
      server.close();
    });
    const { details } = await upstream.unary(unaryCall({ deadline: now() + DEADLINE_MS }));
    const leftMs = Number(details) - Date.now();
    expect(leftMs).toBeGreaterThan(0);
    expect(leftMs).toBeLessThanOrEqual(DEADLINE_MS);
  },
);

it.each([
  ['known', { sub: 'ann' }, true],
  ['unknown', undefined, false],
])('a refusal by the service in the same process says that its caller is %s', async (_, fields, known) => {
  const reply = {
    code: status.UNAVAILABLE,
    details: '',
    trailers: new Metadata(),
    ...(fields && { fields }),
  };
  expect(await memoryUpstream(() => reply).unary(unaryCall())).toMatchObject({ callerKnown: known });
});
