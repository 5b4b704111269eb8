import { once } from 'node:events';
import { connect as connectSocket } from 'node:net';
import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { framed, outcomeOf, requestOn } from '../support/http2-call.js';
import { connectTo, ECHO, openDoor, SLOW } from '../support/grpc-door.js';

const MESSAGE = framed(Buffer.from('m'));

/** Longer than a test may take, in milliseconds. */
const NEVER_MS = 60_000;

describe('a server that closes', () => {
  it('answers the calls in progress, whose clients learn of the end before', async () => {
    const door = await openDoor();
    const session = connectTo(door);
    const order: string[] = [];
    session.once('goaway', () => order.push('goaway'));
    const call = outcomeOf(requestOn(session, SLOW).end(MESSAGE)).then(({ code }) =>
      order.push(`code ${code}`),
    );
    await door.arrived(1);
    const closed = door.close(NEVER_MS);
    await once(session, 'goaway');
    door.answer();
    await Promise.all([call, closed]);
    expect(order).toEqual(['goaway', 'code 0']);
  });

  it('answers the next call of a connection that was between two calls', async () => {
    const door = await openDoor();
    const session = connectTo(door);
    await outcomeOf(requestOn(session, ECHO).end(MESSAGE));
    const closed = door.close(NEVER_MS);
    const next = outcomeOf(requestOn(session, ECHO).end(MESSAGE));
    await once(session, 'goaway');
    expect((await next).code).toBe(status.OK);
    await closed;
  });

  it('tells connections with calls of the end while it waits for the next calls of others', async () => {
    const door = await openDoor();
    const [between, calling] = [connectTo(door), connectTo(door)];
    const order: string[] = [];
    between.once('goaway', () => order.push('between calls'));
    calling.once('goaway', () => order.push('calling'));
    const call = outcomeOf(requestOn(calling, SLOW).end(MESSAGE));
    await outcomeOf(requestOn(between, ECHO).end(MESSAGE));
    await door.arrived(1);
    const closed = door.close(NEVER_MS);
    await once(between, 'goaway');
    expect(order).toEqual(['calling', 'between calls']);
    door.answer();
    await Promise.all([call, closed]);
  });

  it('does not wait for idle connections, only for those between two calls', async () => {
    const [between, first, second] = [await openDoor(), await openDoor(), await openDoor()];
    for (const idle of [first, second]) await once(connectTo(idle), 'remoteSettings');
    await outcomeOf(requestOn(connectTo(between), ECHO).end(MESSAGE));
    const closed: string[] = [];
    const waiting = between.close(NEVER_MS).then(() => closed.push('between two calls'));
    // One after the other, in less than the time that the other door waits.
    for (const idle of [first, second]) await idle.close(NEVER_MS).then(() => closed.push('idle'));
    await waiting;
    expect(closed).toEqual(['idle', 'idle', 'between two calls']);
  });

  it('accepts no more connections', async () => {
    const door = await openDoor();
    const session = connectTo(door);
    const call = outcomeOf(requestOn(session, SLOW).end(MESSAGE));
    await door.arrived(1);
    const closed = door.close(NEVER_MS);
    const { hostname, port } = new URL(`http://${door.address}`);
    const [error] = (await once(connectSocket(Number(port), hostname), 'error').catch((failure: unknown) => [
      failure,
    ])) as [NodeJS.ErrnoException];
    expect(error.code).toBe('ECONNREFUSED');
    door.answer();
    await Promise.all([call, closed]);
  });

  it('cuts what is left after its grace', async () => {
    const door = await openDoor();
    const session = connectTo(door);
    const stream = requestOn(session, SLOW)
      .on('error', () => undefined)
      .end(MESSAGE);
    await door.arrived(1);
    const gone = new Promise((resolve) => stream.once('close', resolve));
    await door.close(100);
    await gone;
    expect(session.destroyed).toBe(true);
  });
});
