import { once } from 'node:events';
import type { ClientHttp2Session } from 'node:http2';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { beginCall, beginWatch, expectEcho, FAST_TIMES, MESSAGE } from '../support/connection-calls.js';
import { outcomeOf, requestOn } from '../support/http2-call.js';
import { connectTo, ECHO, SLOW, startTestServer, type TestServer } from '../support/test-grpc-server.js';

// Every connection may have a share of the streams (src/grpc/stream-share.ts, which has tests of its own):
//
// - Busy connections, which have more than 2 calls at work or as many as they may, share half of `maxWaitingCalls`.
//   The calls of connections with fewer come off it first. New connections count as busy until the next check.
// - All open connections share three times the streams that may be open at once, 1.125 for each of `maxCalls`.
//
// A share is rounded down to a power of two. It is at most `maxStreams`, and at least 2, whatever that adds up to.

/** With 8 streams for all busy connections, and at most 4 for each. */
const EIGHT_FOR_BUSY = { limits: { maxStreams: 4, maxWaitingCalls: 16 }, times: FAST_TIMES };

/** As above, but with the shares of the beginning: no check comes during a test. */
const EIGHT_UNCHECKED = { ...EIGHT_FOR_BUSY, times: { checkMs: 60_000 } };

/** With 13.5 streams (3 × 1.125 × 4) for all open connections, and at most 8 for each. */
const THIRTEEN_FOR_OPEN = { limits: { maxStreams: 8, maxCalls: 4 }, times: FAST_TIMES };

/** The number of streams that a client may have open, as the server has last announced it. */
function announcedTo(session: ClientHttp2Session): number | undefined {
  return session.remoteSettings.maxConcurrentStreams;
}

/** Waits until the server has announced this number of streams to each of these connections. */
async function expectAnnounced(sessions: readonly ClientHttp2Session[], streams: number): Promise<void> {
  await expect.poll(() => sessions.map(announcedTo)).toEqual(sessions.map(() => streams));
}

function connectMany(server: TestServer, count: number): ClientHttp2Session[] {
  return Array.from({ length: count }, () => connectTo(server));
}

/** Opens connections, and waits until the server has announced a first number of streams to each. */
async function connectManyAtOnce(server: TestServer, count: number): Promise<ClientHttp2Session[]> {
  const sessions = connectMany(server, count);
  await Promise.all(sessions.map((session) => once(session, 'remoteSettings')));
  return sessions;
}

/** Begins calls that wait until the test completes them. */
function beginSlowCalls(session: ClientHttp2Session, count: number): void {
  for (let begun = 0; begun < count; begun++) beginCall(session, SLOW);
}

describe("a connection's share of streams", () => {
  it('shrinks while many connections are busy, and grows once they are not', async () => {
    const server = await startTestServer(EIGHT_FOR_BUSY);
    const usedAgain = connectTo(server);
    const others = connectMany(server, 7);
    const calls = [usedAgain, ...others].flatMap((session) =>
      Array.from({ length: 2 }, () => outcomeOf(requestOn(session, SLOW).end(MESSAGE))),
    );
    // 8 / 8 is less than the smallest share. Two calls make a connection busy once it may have no more than 2, as the
    // first connections, which begin with 4, soon do: their calls come off what the others share.
    await expectAnnounced([usedAgain, ...others], 2);

    await server.waitingCalls(16);
    server.completeCalls();
    await Promise.all(calls);

    beginCall(usedAgain, SLOW);
    await expectAnnounced([usedAgain], 4);
    expect(others.map(announcedTo)).toEqual(others.map(() => 2));
  });

  it('is a part of half the calls that may wait', async () => {
    const server = await startTestServer(EIGHT_FOR_BUSY);
    const sessions = connectMany(server, 4);
    for (const session of sessions) beginSlowCalls(session, 3);
    await expectAnnounced(sessions, 2);
  });

  it('is not reduced for or by connections that are idle or only watch', async () => {
    const server = await startTestServer(EIGHT_FOR_BUSY);
    const sessions: ClientHttp2Session[] = [];
    for (let opened = 0; opened < 8; opened++) {
      const session = connectTo(server);
      await once(beginWatch(session), 'data');
      // A connection begins with a share among those that came since the last check.
      await expectAnnounced([session], 4);
      sessions.push(session);
    }
    expect(sessions.map(announcedTo)).toEqual(sessions.map(() => 4));
  });

  it('shrinks even for idle connections when many are open', async () => {
    const server = await startTestServer(THIRTEEN_FOR_OPEN);
    const first = connectTo(server);
    await once(first, 'remoteSettings');
    expect(announcedTo(first)).toBe(8);

    // 13.5 / 6 = 2.25.
    await expectAnnounced([first, ...connectMany(server, 5)], 2);
  });

  it('grows for an idle connection that becomes busy, while the others stay idle', async () => {
    const server = await startTestServer(THIRTEEN_FOR_OPEN);
    const busy = connectTo(server);
    const idle = connectMany(server, 5);
    await expectAnnounced([busy, ...idle], 2);

    beginSlowCalls(busy, 2);
    await expectAnnounced([busy], 8);
    expect(idle.map(announcedTo)).toEqual(idle.map(() => 2));
  });

  it('is not reduced by connections that make one call at a time', async () => {
    const server = await startTestServer(EIGHT_FOR_BUSY);
    const busy = connectTo(server);
    await once(busy, 'remoteSettings');
    const announced = new Set([announcedTo(busy)]);
    busy.on('remoteSettings', () => announced.add(announcedTo(busy)));
    beginSlowCalls(busy, 4);
    await server.waitingCalls(4);

    const others = connectMany(server, 3);
    // They last for many checks.
    const rounds = 80;
    for (let round = 0; round < rounds; round++) await Promise.all(others.map(expectEcho));
    expect([...announced]).toEqual([4]);
  });

  it('is not reduced by connections that only wait for their clients', async () => {
    const server = await startTestServer(EIGHT_FOR_BUSY);
    for (const session of connectMany(server, 8)) {
      const unfinished = requestOn(session, ECHO).on('error', () => undefined);
      unfinished.write(MESSAGE);
    }

    const calling = connectTo(server);
    beginCall(calling, SLOW);
    await server.waitingCalls(1);
    await expectAnnounced([calling], 4);
  });

  describe('of connections that come at once', () => {
    it('is reduced from the start, but for the first two', async () => {
      const server = await startTestServer(EIGHT_UNCHECKED);
      const sessions = await connectManyAtOnce(server, 8);
      // 8 / 1 and 8 / 2 are 4 or more. The connections may arrive in another order.
      await expect.poll(() => sessions.map(announcedTo).sort()).toEqual([...Array<number>(6).fill(2), 4, 4]);
    });

    it('is restored at the next check if they stay idle', async () => {
      const server = await startTestServer(EIGHT_FOR_BUSY);
      const sessions = await connectManyAtOnce(server, 8);
      await expectAnnounced(sessions, 4);
    });

    it('is not reduced by those that have left', async () => {
      const server = await startTestServer(EIGHT_UNCHECKED);
      const sessions = await connectManyAtOnce(server, 8);
      for (const session of sessions) session.destroy();

      // The server learns only after a while that they have left.
      await expect
        .poll(async () => {
          const session = connectTo(server);
          await once(session, 'remoteSettings');
          // The share is announced before the ping is answered.
          await promisify(session.ping.bind(session))();
          const streams = announcedTo(session);
          session.destroy();
          return streams;
        })
        .toBe(4);
    });
  });
});
