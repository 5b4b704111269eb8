import { setTimeout as sleep } from 'node:timers/promises';
import { type ClientDuplexStream, credentials, type ServiceError, status } from '@grpc/grpc-js';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  type Call,
  type OpenTunnelRequest,
  type OpenTunnelResponse,
  type Reply,
  TunnelServiceClient,
  TunnelServiceService,
} from '../../src/gen/tunnel/v1/tunnel_service.js';
import { Health } from '../../src/grpc/health.js';
import { createInterceptors } from '../../src/grpc/interceptors.js';
import type { Method } from '../../src/grpc/method.js';
import { createPipeline } from '../../src/grpc/pipeline.js';
import { type GrpcServer, startGrpcServer } from '../../src/grpc/server.js';
import { errorInfoOf, richErrorOfReply } from '../support/rich-error.js';

const ECHO = '/test.Service/Echo';
const LATE = '/test.Service/Late';
const SLOW = '/test.Service/Slow';
const GUARDED = '/test.Service/Guarded';
const OPEN_TUNNEL = TunnelServiceService.openTunnel.path;

interface RunningServer extends GrpcServer {
  /** How calls ended, as the log has it. */
  readonly log: string[];
  /** Lets the calls of the method `LATE` have their answers. */
  release: () => void;
}

async function start(deadlineMs = 60_000): Promise<RunningServer> {
  const log: string[] = [];
  const logger = pino(
    { level: 'debug' },
    {
      write: (line) => {
        const { method, code } = JSON.parse(line) as { method: string; code: string };
        log.push(`${method} ${code}`);
      },
    },
  );
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const methods: Method[] = [
    { path: ECHO, access: 'public', run: (message) => message },
    { path: LATE, access: 'public', run: (message) => released.then(() => message) },
    { path: SLOW, access: 'public', run: () => new Promise(() => undefined) },
    { path: GUARDED, access: { scope: 's' }, run: (message) => message },
  ];
  const authenticator = {
    authenticate: ([given]: readonly string[]) =>
      ({ ok: false, reason: 'TOKEN_INVALID', message: `The token is ${given}.` }) as const,
  };
  const server = await startGrpcServer({
    address: '127.0.0.1:0',
    methods,
    pipeline: createPipeline(
      methods,
      createInterceptors({ authenticator, deadlineMs, now: Date.now, logger }),
    ),
    health: new Health([]),
    reflection: false,
    deadlineMs,
    logger,
  });
  onTestFinished(() => server.close(0));
  return { ...server, log, release };
}

/** The client's end, in the hands of the test. */
class ClientEnd {
  readonly responses: OpenTunnelResponse[] = [];
  error: ServiceError | undefined;
  ended: status | undefined;
  readonly #client: TunnelServiceClient;
  readonly #stream: ClientDuplexStream<OpenTunnelRequest, OpenTunnelResponse>;

  constructor({ address }: GrpcServer) {
    this.#client = new TunnelServiceClient(address, credentials.createInsecure());
    this.#stream = this.#client.openTunnel();
    this.#stream.on('data', (response: OpenTunnelResponse) => this.responses.push(response));
    this.#stream.on('error', (error: ServiceError) => (this.error = error));
    this.#stream.on('status', ({ code }) => (this.ended = code));
    onTestFinished(() => {
      this.cancel();
    });
  }

  send(calls: Partial<Call>[], cancelledCallIds: number[] = []): void {
    const defaults = { id: 0, path: ECHO, message: Buffer.alloc(0), metadata: [], timeoutMs: 0 };
    this.#stream.write({ calls: calls.map((call) => ({ ...defaults, ...call })), cancelledCallIds });
  }

  pause(): void {
    this.#stream.pause();
  }

  resume(): void {
    this.#stream.resume();
  }

  end(): void {
    this.#stream.end();
  }

  cancel(): void {
    this.#stream.cancel();
    this.#client.close();
  }

  get replies(): Reply[] {
    return this.responses.flatMap(({ replies }) => replies);
  }

  reply(index: number): Promise<Reply> {
    return vi.waitUntil(() => this.replies[index]);
  }

  get draining(): boolean {
    return this.responses.some(({ draining }) => draining);
  }
}

describe('a tunnel', () => {
  it('begins with an empty message', async () => {
    const tunnel = new ClientEnd(await start());
    await vi.waitUntil(() => tunnel.responses.length > 0);
    expect(tunnel.responses).toEqual([{ replies: [], draining: false }]);
  });

  it('answers the calls of one message, and at once those that wait for nothing', async () => {
    const server = await start();
    const tunnel = new ClientEnd(server);
    const metadata = [{ name: 'x-request-id', value: 'one-name' }];
    tunnel.send([
      { id: 7, path: LATE, message: Buffer.from('late') },
      { id: 3, message: Buffer.from('now'), metadata },
      { id: 4, message: Buffer.from('too') },
    ]);
    await tunnel.reply(1);
    server.release();
    await tunnel.reply(2);
    expect(tunnel.replies.map(({ callId, code, message }) => [callId, code, String(message)])).toEqual([
      [3, status.OK, 'now'],
      [4, status.OK, 'too'],
      [7, status.OK, 'late'],
    ]);
    expect(tunnel.replies[0]?.trailers).toEqual(metadata);
    expect(tunnel.responses.length).toBe(3);
  });

  it('has the guard of every call', async () => {
    const tunnel = new ClientEnd(await start());
    tunnel.send([{ path: GUARDED, metadata: [{ name: 'authorization', value: 'Bearer x' }] }]);
    const { code, details, message } = await tunnel.reply(0);
    expect([code, details]).toEqual([status.UNAUTHENTICATED, 'The token is Bearer x.']);
    expect(message.length).toBe(0);
  });

  it('knows the methods of the pipeline alone', async () => {
    const tunnel = new ClientEnd(await start());
    tunnel.send([{ path: '/grpc.health.v1.Health/Watch' }, { id: 1, path: 'nonsense' }]);
    expect((await tunnel.reply(0)).code).toBe(status.UNIMPLEMENTED);
    expect((await tunnel.reply(1)).code).toBe(status.UNIMPLEMENTED);
  });

  it('ends a call with its deadline', async () => {
    const tunnel = new ClientEnd(await start());
    tunnel.send([{ path: SLOW, timeoutMs: 20 }]);
    expect((await tunnel.reply(0)).code).toBe(status.DEADLINE_EXCEEDED);
  });

  it('ends a call whose caller has gone, and no other', async () => {
    const server = await start();
    const tunnel = new ClientEnd(server);
    tunnel.send([
      { id: 1, path: LATE },
      { id: 2, path: SLOW },
    ]);
    tunnel.send([], [2, 5]);
    expect(await tunnel.reply(0)).toMatchObject({ callId: 2, code: status.CANCELLED });
    server.release();
    expect(await tunnel.reply(1)).toMatchObject({ callId: 1, code: status.OK });
  });

  it('ends all its calls when it is lost', async () => {
    const server = await start();
    const tunnel = new ClientEnd(server);
    tunnel.send([
      { id: 1, path: SLOW },
      { id: 2, path: SLOW },
      { id: 3, path: ECHO },
    ]);
    await tunnel.reply(0);
    tunnel.cancel();
    await vi.waitUntil(() => server.log.length === 3);
    expect(server.log).toEqual([`${ECHO} OK`, `${SLOW} CANCELLED`, `${SLOW} CANCELLED`]);
  });

  it('takes no calls from a client that takes no replies, until it does', async () => {
    const server = await start();
    const tunnel = new ClientEnd(server);
    await vi.waitUntil(() => tunnel.responses.length > 0);
    tunnel.pause();
    const sent = 300;
    for (let id = 0; id < sent; id++) tunnel.send([{ id, message: Buffer.alloc(60_000) }]);
    let handled = -1;
    await vi.waitUntil(() => handled === (handled = server.log.length) && handled > 0, { interval: 100 });
    expect(handled).toBeLessThan(sent / 2);
    tunnel.resume();
    await tunnel.reply(sent - 1);
    expect(tunnel.replies.map(({ callId }) => callId)).toEqual(Array.from({ length: sent }, (_, id) => id));
  });

  it('is ended when its replies are not taken for longer than a call may take', async () => {
    const server = await start(300);
    const tunnel = new ClientEnd(server);
    await vi.waitUntil(() => tunnel.responses.length > 0);
    tunnel.pause();
    for (let id = 0; id < 300; id++) tunnel.send([{ id, message: Buffer.alloc(60_000) }]);
    await vi.waitUntil(() => server.log.at(-1) === `${OPEN_TUNNEL} DEADLINE_EXCEEDED`);
    tunnel.resume();
    await vi.waitUntil(() => tunnel.ended !== undefined);
    expect(tunnel.ended).toBe(status.DEADLINE_EXCEEDED);
    expect(tunnel.replies.length).toBeLessThan(150);
  });

  it('is not ended when its replies were not taken for a while', async () => {
    const tunnel = new ClientEnd(await start(1_500));
    tunnel.pause();
    for (let id = 0; id < 100; id++) tunnel.send([{ id, message: Buffer.alloc(60_000) }]);
    await sleep(100);
    tunnel.resume();
    await tunnel.reply(99);
    await sleep(1_600);
    expect(tunnel.ended).toBeUndefined();
  });

  it('may have the id of a call again after the reply', async () => {
    const tunnel = new ClientEnd(await start());
    for (const index of [0, 1, 2]) {
      tunnel.send([{ id: 65_535, message: Buffer.from(String(index)) }]);
      expect(String((await tunnel.reply(index)).message)).toBe(String(index));
    }
  });

  it('ends when the client ends it, after the last reply', async () => {
    const server = await start();
    const tunnel = new ClientEnd(server);
    tunnel.send([{ path: LATE }]);
    tunnel.end();
    await vi.waitUntil(() => tunnel.responses.length > 0);
    expect(tunnel.ended).toBeUndefined();
    server.release();
    await vi.waitUntil(() => tunnel.ended !== undefined);
    expect([tunnel.replies.length, tunnel.ended]).toEqual([1, status.OK]);
  });

  it('ends when the client ends it together with a call that waits for nothing, after its reply', async () => {
    const tunnel = new ClientEnd(await start());
    tunnel.send([{ path: ECHO }]);
    tunnel.end();
    await vi.waitUntil(() => tunnel.ended !== undefined);
    expect([tunnel.replies.length, tunnel.ended]).toEqual([1, status.OK]);
  });

  it.each<[title: string, calls: Partial<Call>[]]>([
    ['an id that is under way', [{ path: SLOW }, { path: SLOW }]],
    ['an id above the limit', [{ id: 65_536 }]],
    ['more calls at a time than the limit', Array.from({ length: 65 }, (_, id) => ({ id }))],
    ['metadata that is none', [{ metadata: [{ name: 'a b', value: '' }] }]],
  ])('is ended at %s', async (_, calls) => {
    const server = await start();
    const tunnel = new ClientEnd(server);
    tunnel.send([{ id: 9, path: SLOW }]);
    tunnel.send(calls);
    tunnel.send([{ id: 10, path: ECHO }]);
    const error = await vi.waitUntil(() => tunnel.error);
    expect([error.code, error.details]).toEqual([
      status.INVALID_ARGUMENT,
      'A call in the tunnel can not be read.',
    ]);
    const rich = richErrorOfReply({ code: error.code, details: error.details, trailers: error.metadata });
    expect(errorInfoOf(rich).reason).toBe('REQUEST_MALFORMED');
    expect(server.log).toContain(`${OPEN_TUNNEL} INVALID_ARGUMENT`);
    expect(server.log).toContain(`${SLOW} CANCELLED`);
    expect(server.log).not.toContain(`${ECHO} OK`);
  });

  it('is ended at what is no message', async () => {
    const server = await start();
    const client = new TunnelServiceClient(server.address, credentials.createInsecure());
    onTestFinished(() => {
      client.close();
    });
    const stream = client.makeBidiStreamRequest<Buffer, Buffer>(
      TunnelServiceService.openTunnel.path,
      (bytes) => bytes,
      (bytes) => bytes,
    );
    const failed = new Promise<ServiceError>((resolve) => stream.on('error', resolve));
    stream.resume().write(Buffer.from([0xff]));
    expect((await failed).code).toBe(status.INVALID_ARGUMENT);
  });
});

describe('a server that closes', () => {
  it('answers the calls in tunnels, and ends when their clients have ended them', async () => {
    const server = await start();
    const [busy, idle] = [new ClientEnd(server), new ClientEnd(server)];
    busy.send([{ path: LATE }]);
    idle.send([{ path: ECHO }]);
    await idle.reply(0);
    const closed = vi.fn();
    const closing = server.close(60_000).then(closed);
    await vi.waitUntil(() => busy.draining && idle.draining);
    idle.end();
    busy.send([{ id: 1, path: ECHO }]);
    expect((await busy.reply(0)).callId).toBe(1);
    busy.end();
    await vi.waitUntil(() => idle.ended !== undefined);
    expect(closed).not.toHaveBeenCalled();
    server.release();
    await closing;
    expect([busy.ended, idle.ended]).toEqual([status.OK, status.OK]);
  });

  it('waits no longer than it is told for tunnels that their clients do not end', async () => {
    const server = await start();
    const tunnel = new ClientEnd(server);
    await vi.waitUntil(() => tunnel.responses.length > 0);
    await server.close(50);
    expect([tunnel.draining, tunnel.ended]).toEqual([true, undefined]);
  });
});
