import { constants, type ServerHttp2Stream } from 'node:http2';
import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { channelUpstream } from '../../src/gateway/channel-upstream.js';
import { Connection } from '../../src/gateway/connection.js';
import { framed } from '../../src/gateway/grpc-framing.js';
import type { UnaryReply } from '../../src/gateway/upstream.js';
import { Deferred } from './deferred.js';
import { listenFull } from './full-listener.js';
import { type BareServer, respond, serveSockets, serveStreams } from './http2-server.js';
import { opening } from './opening.js';
import { unaryCall } from './unary-call.js';

function answer(stream: ServerHttp2Stream): void {
  respond(stream, { body: framed(Buffer.from('m')), trailers: { 'grpc-status': '0' } });
}

/** A call on a connection that another one has replaced since the server's GOAWAY. */
async function leftBehind(): Promise<{
  early: Promise<UnaryReply>;
  stream: ServerHttp2Stream;
  server: BareServer;
}> {
  const held = new Deferred<ServerHttp2Stream>();
  const answers = [
    (stream: ServerHttp2Stream): void => {
      stream.session?.close();
      held.resolve(stream);
    },
  ];
  const server = opening(
    await serveStreams((stream) => {
      (answers.shift() ?? answer)(stream);
    }),
  );
  const upstream = opening(channelUpstream(server.address));
  const early = Promise.resolve(upstream.unary(unaryCall()));
  const stream = await held.promise;
  await expect.poll(async () => (await upstream.unary(unaryCall())).code).toBe(status.OK);
  expect(server.sessions).toHaveLength(2);
  return { early, stream, server };
}

/** Whether a connection comes to stand. */
function outcome(connection: Connection): Promise<string> {
  return new Promise((resolve) => {
    connection.admit({
      board: () => {
        resolve('stands');
      },
      leave: resolve,
    });
  });
}

const ignore = (): void => undefined;
const LIMITS = { connectMs: 20_000, calls: 2 };

describe('a connection', () => {
  it('is given up when the server sends no SETTINGS in time', async () => {
    const server = opening(await serveSockets(ignore));
    const connection = opening(new Connection(server.address, ignore, { ...LIMITS, connectMs: 20 }));
    expect(await outcome(connection)).toBe('The server sent no SETTINGS.');
    expect(connection.takesCalls).toBe(false);
  });

  it('is given up in time where nobody so much as accepts it', async () => {
    const { address } = opening(await listenFull());
    const connection = opening(new Connection(address, ignore, { ...LIMITS, connectMs: 20 }));
    expect(await outcome(connection)).toBe('The server sent no SETTINGS.');
  });

  it('is closed at once where nobody accepts it', async () => {
    const { address } = opening(await listenFull());
    const connection = new Connection(address, ignore, LIMITS);
    const told = outcome(connection);
    connection.close();
    expect(await told).toBe('The connection was closed.');
  });

  it('is UNAVAILABLE when a GOAWAY comes with the SETTINGS', async () => {
    const settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    const goaway = [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    const server = opening(
      await serveSockets((socket) => socket.write(Buffer.from([...settings, ...goaway]))),
    );
    const upstream = opening(channelUpstream(server.address));
    expect((await upstream.unary(unaryCall())).code).toBe(status.UNAVAILABLE);
  });

  it('takes as many calls as it has ids for, and is closed with the end of the last', async () => {
    const server = opening(await serveStreams(answer));
    const connection = opening(new Connection(server.address, ignore, LIMITS));
    await outcome(connection);
    const first = connection.request({ ':method': 'POST', ':path': '/' }).end();
    expect(connection.takesCalls).toBe(true);
    const last = connection.request({ ':method': 'POST', ':path': '/' }).end();
    expect(connection.takesCalls).toBe(false);
    const streams = [first, last];
    const bodies = await Promise.all(streams.map((stream) => stream.toArray()));
    expect(bodies).toEqual([[framed(Buffer.from('m'))], [framed(Buffer.from('m'))]]);
    expect(connection.broken).toBe(false);
    connection.release();
    connection.release();
    await expect.poll(() => connection.broken).toBe(true);
  });

  it('is replaced after a GOAWAY, and the calls under way on it go on to their end', async () => {
    const { early, stream } = await leftBehind();
    answer(stream);
    expect((await early).code).toBe(status.OK);
  });

  it('ends its calls as UNAVAILABLE where it is lost after a GOAWAY', async () => {
    const { early, server } = await leftBehind();
    server.reset();
    expect((await early).code).toBe(status.UNAVAILABLE);
  });

  it('ends its calls as UNAVAILABLE after a GOAWAY with an error', async () => {
    const server = opening(
      await serveStreams((stream) => {
        stream.session?.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
      }),
    );
    const upstream = opening(channelUpstream(server.address));
    expect((await upstream.unary(unaryCall())).code).toBe(status.UNAVAILABLE);
  });
});
