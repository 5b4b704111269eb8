import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type ChannelOptions, credentials, status } from '@grpc/grpc-js';
import { expect, it, onTestFinished, vi } from 'vitest';
import { type GrpcUpstream, grpcUpstream } from '../../packages/transcoder/src/grpc-js.js';
import { opening } from '../../packages/transcoder/test/support/opening.js';
import { unaryCall } from '../../packages/transcoder/test/support/unary-call.js';
import { needs, programPath } from '../support/needs.js';
import { startTcpProxy } from '../support/tcp-proxy.js';
import { figure } from './rig/figures.js';
import { scale } from './rig/scale.js';

/** A server of grpcio with its default settings: a call waits as many seconds as its message says. */
const SERVER = `
import time
from concurrent import futures
import grpc

def same(message):
    return message

class Handler(grpc.GenericRpcHandler):
    def service(self, details):
        def one(request, context):
            time.sleep(float(request))
            return request
        def two(request, context):
            yield request
            time.sleep(float(request))
            yield request
        if details.method.endswith('Stream'):
            return grpc.unary_stream_rpc_method_handler(two, same, same)
        return grpc.unary_unary_rpc_method_handler(one, same, same)

server = grpc.server(futures.ThreadPoolExecutor(max_workers=8))
server.add_generic_rpc_handlers((Handler(),))
port = server.add_insecure_port('127.0.0.1:0')
server.start()
print(port, flush=True)
server.wait_for_termination()
`;

async function startServer(): Promise<number> {
  const server = spawn(programPath('python'), ['-c', SERVER], { stdio: ['ignore', 'pipe', 'ignore'] });
  onTestFinished(() => {
    server.kill('SIGKILL');
  });
  const [line] = (await once(server.stdout, 'data')) as [Buffer];
  return Number(line.toString());
}

function upstreamAt(port: number, channelOptions: ChannelOptions = {}): GrpcUpstream {
  const options = { credentials: credentials.createInsecure(), channelOptions };
  return opening(grpcUpstream(`127.0.0.1:${port}`, options));
}

/** A call that the server answers after this time. */
function callOf(method: string, ms: number, spareMs = 30_000) {
  return unaryCall({
    path: `/foreign.Server/${method}`,
    message: Buffer.from(String(ms / 1_000)),
    deadline: Date.now() + ms + spareMs,
  });
}

it(
  'a quiet call and a quiet stream of a server with default settings live as long as they may, over one connection',
  { ...needs('python'), timeout: scale.quietMs + 60_000 },
  async () => {
    const printed = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    onTestFinished(() => {
      printed.mockRestore();
    });
    const network = opening(await startTcpProxy(await startServer()));
    const upstream = upstreamAt(network.port);
    const call = upstream.unary(callOf('Unary', scale.quietMs));
    const stream = upstream.serverStream(callOf('Stream', scale.quietMs));
    expect(await stream.next()).toBeInstanceOf(Buffer);
    expect(await stream.next()).toBeInstanceOf(Buffer);
    expect(await stream.next()).toMatchObject({ code: status.OK, answered: true });
    expect(await call).toMatchObject({ code: status.OK, answered: true });
    expect(network.connections()).toBe(1);
    expect(printed).not.toHaveBeenCalled();
    figure('quiet call and stream before grpcio', { 'quiet ms': scale.quietMs, connections: 1 });
  },
);

it(
  'a server that has fallen silent is noticed 20 s after a ping that it does not answer',
  { ...needs('python'), timeout: scale.pingMs + 60_000 },
  async () => {
    const network = opening(await startTcpProxy(await startServer()));
    const upstream = upstreamAt(network.port, { 'grpc.keepalive_time_ms': scale.pingMs });
    const stream = upstream.serverStream(callOf('Stream', scale.pingMs + 60_000));
    expect(await stream.next()).toBeInstanceOf(Buffer);
    network.loseConnections();
    const cutAt = performance.now();
    expect(await upstream.unary(callOf('Unary', 0, 1_000))).toMatchObject({ code: status.DEADLINE_EXCEEDED });
    expect(await stream.next()).toMatchObject({ code: status.UNAVAILABLE, answered: false });
    const noticedMs = performance.now() - cutAt;
    expect(await upstream.unary(callOf('Unary', 0))).toMatchObject({ code: status.OK });
    figure('silent foreign server', { 'ping interval ms': scale.pingMs, 'noticed after ms': noticedMs });
    expect(noticedMs).toBeLessThan(scale.pingMs + 22_000);
  },
);
