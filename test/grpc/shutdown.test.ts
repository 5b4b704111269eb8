import { once } from 'node:events';
import { connect as connectSocket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { frameMessage, outcomeOf, requestOn } from '../support/http2-call.js';
import { connectTo, ECHO, startTestServer, SLOW } from '../support/test-grpc-server.js';

const MESSAGE = frameMessage(Buffer.from('m'));

/** Longer than any test takes, in milliseconds. */
const NEVER_MS = 60_000;

describe('a server that closes', () => {
  it('sends GOAWAY, and then answers the calls in progress', async () => {
    const server = await startTestServer();
    const session = connectTo(server);
    const order: string[] = [];
    session.once('goaway', () => order.push('goaway'));
    const call = outcomeOf(requestOn(session, SLOW).end(MESSAGE)).then(({ code }) =>
      order.push(`code ${code}`),
    );
    await server.waitingCalls(1);
    const closed = server.close(NEVER_MS);
    await once(session, 'goaway');
    server.completeCalls();
    await Promise.all([call, closed]);
    expect(order).toEqual(['goaway', 'code 0']);
  });

  it('sends GOAWAY on every connection at once, and waits for none without calls', async () => {
    const server = await startTestServer();
    const [idle, between] = [connectTo(server), connectTo(server)];
    await Promise.all([once(idle, 'remoteSettings'), outcomeOf(requestOn(between, ECHO).end(MESSAGE))]);
    const told = Promise.all([idle, between].map((session) => once(session, 'goaway')));
    await server.close(NEVER_MS);
    await told;
  });

  it('accepts no more connections', async () => {
    const server = await startTestServer();
    const session = connectTo(server);
    const call = outcomeOf(requestOn(session, SLOW).end(MESSAGE));
    await server.waitingCalls(1);
    const closed = server.close(NEVER_MS);
    const { hostname, port } = new URL(`http://${server.address}`);
    const [error] = (await once(connectSocket(Number(port), hostname), 'error').catch((failure: unknown) => [
      failure,
    ])) as [NodeJS.ErrnoException];
    expect(error.code).toBe('ECONNREFUSED');
    server.completeCalls();
    await Promise.all([call, closed]);
  });

  it('cuts the remaining connections after the grace period', async () => {
    const server = await startTestServer();
    const session = connectTo(server);
    const stream = requestOn(session, SLOW)
      .on('error', () => undefined)
      .end(MESSAGE);
    await server.waitingCalls(1);
    const gone = new Promise((resolve) => stream.once('close', resolve));
    await server.close(100);
    await gone;
    expect(session.destroyed).toBe(true);
  });
});
