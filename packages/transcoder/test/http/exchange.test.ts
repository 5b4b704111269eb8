import { describe, expect, it } from 'vitest';
import { MAX_UNSENT } from '../../src/http/request-queue.js';
import type { UnaryCall, Upstream } from '../../src/upstream.js';
import { httpRequest } from '../support/http-request.js';
import { LibraryServer } from '../support/library-server.js';
import { openTranscoder } from '../support/library-transcoder.js';
import { getRequest, openConnection } from '../support/open-connection.js';

/** Longer than a test may take, in milliseconds. */
const NEVER_MS = 60_000;

/** An observer that counts requests when they begin. */
function countedRequests() {
  let count = 0;
  const observer = {
    begin: () => {
      count += 1;
      return { end: () => undefined };
    },
  };
  return { observer, begun: () => count };
}

describe('pipelined requests', () => {
  it.each([
    { path: '/v1/hang', what: 'calls' },
    { path: '/nowhere', what: 'refusals' },
  ])('close their connection if too many of its responses are unsent: $what', async ({ path }) => {
    const { begun, observer } = countedRequests();
    const gateway = await openTranscoder({ observers: [observer], deadlineMs: NEVER_MS });
    const { socket, closed } = openConnection(gateway);
    socket.write(getRequest(path).repeat(MAX_UNSENT + 3));
    await closed;
    expect(begun()).toBe(MAX_UNSENT);
    expect((await httpRequest(gateway.origin, { path: '/nowhere' })).status).toBe(404);
  });

  it('do not close their connection if as many responses have been sent', async () => {
    const gateway = await openTranscoder();
    const { socket, received } = openConnection(gateway);
    const answers = (): number => received().match(/HTTP\/1\.1 404/g)?.length ?? 0;
    for (const round of [1, 2, 3]) {
      socket.write(getRequest('/nowhere').repeat(MAX_UNSENT));
      await expect.poll(answers).toBe(round * MAX_UNSENT);
    }
  });

  it('close their connection if too many on all connections wait for earlier responses, and others are served', async () => {
    const { begun, observer } = countedRequests();
    const gateway = await openTranscoder({ observers: [observer], maxRequests: 3, deadlineMs: NEVER_MS });
    const [first, second] = [openConnection(gateway), openConnection(gateway)];
    first.socket.write(getRequest('/v1/hang').repeat(3));
    await expect.poll(begun).toBe(3);
    second.socket.write(getRequest('/v1/hang').repeat(3));
    await second.closed;
    expect(begun()).toBe(5);
    expect((await httpRequest(gateway.origin, { path: '/nowhere' })).status).toBe(404);
    first.socket.destroy();
    await first.closed;
    const third = openConnection(gateway);
    third.socket.write(getRequest('/nowhere').repeat(3));
    await expect.poll(third.received).toMatch(/(?:HTTP\/1\.1 404[^]*){3}/);
  });

  it('no longer count once their connection is gone, even if they were queued', async () => {
    const { begun, observer } = countedRequests();
    const gateway = await openTranscoder({ observers: [observer], maxRequests: 4, deadlineMs: NEVER_MS });
    for (const round of [1, 2, 3]) {
      const dead = openConnection(gateway);
      dead.socket.write(getRequest('/v1/hang') + getRequest('/nowhere').repeat(3));
      await expect.poll(begun).toBe(4 * round);
      dead.socket.resetAndDestroy();
      await expect.poll(gateway.connections).toBe(0);
    }
    const alive = openConnection(gateway);
    alive.socket.write(getRequest('/nowhere').repeat(4));
    await expect.poll(alive.received).toMatch(/(?:HTTP\/1\.1 404[^]*){4}/);
  });

  it('are cancelled when their connection is gone, even if they wait for an earlier response', async () => {
    const library = new LibraryServer();
    const calls: UnaryCall[] = [];
    const upstream: Upstream = {
      unary: (call) => {
        calls.push(call);
        return library.unary(call);
      },
    };
    const gateway = await openTranscoder({ upstream, deadlineMs: NEVER_MS });
    const dead = openConnection(gateway);
    dead.socket.write(getRequest('/v1/hang').repeat(2));
    await expect.poll(() => calls.length).toBe(2);
    const cancelled = calls.map(
      ({ cancellation }) =>
        new Promise<void>((resolve) => {
          cancellation.onCancelled(resolve);
        }),
    );
    dead.socket.resetAndDestroy();
    await Promise.all(cancelled);
    expect(calls.map(({ cancellation }) => cancellation.cancelled)).toEqual([true, true]);
  });

  it('do not count if middleware passes them on after its response to them has closed', async () => {
    const gateway = await openTranscoder({ maxRequests: 1 }, {}, (handler) => (request, response) => {
      response
        .once('close', handler.bind(undefined, request, response))
        .writeHead(401)
        .end();
    });
    const { socket, received } = openConnection(gateway);
    for (const round of [1, 2, 3, 4]) {
      socket.write(getRequest('/nowhere'));
      await expect.poll(received).toMatch(new RegExp(`(?:HTTP/1\\.1 401[^]*){${round}}`));
    }
  });

  it('do not count if middleware passes them on after their connection has closed', async () => {
    const late: (() => void)[] = [];
    const gateway = await openTranscoder({ maxRequests: 1 }, {}, (handler) => (request, response) => {
      late.push(() => {
        handler(request, response);
      });
    });
    const dead = openConnection(gateway);
    dead.socket.write(getRequest('/nowhere').repeat(3));
    await expect.poll(() => late.length).toBe(3);
    dead.socket.resetAndDestroy();
    await expect.poll(gateway.connections).toBe(0);
    for (const handle of late.splice(0)) handle();
    const alive = openConnection(gateway);
    alive.socket.write(getRequest('/nowhere').repeat(2));
    await expect.poll(() => late.length).toBe(2);
    for (const handle of late) handle();
    await expect.poll(alive.received).toMatch(/(?:HTTP\/1\.1 404[^]*){2}/);
  });
});
