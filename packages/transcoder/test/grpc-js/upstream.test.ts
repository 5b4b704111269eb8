import { credentials, Metadata, status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import type { UnaryCall } from '../../src/upstream.js';
import { Caller } from '../support/caller.js';
import { Deferred } from '../support/deferred.js';
import type { GrpcReply } from '../support/grpc-server.js';
import { PATH, unaryCall } from '../support/unary-call.js';
import { OK, upstreamTo } from '../support/upstream.js';

type Answer = (call: UnaryCall) => GrpcReply | Promise<GrpcReply>;

const echo: Answer = ({ message }) => ({ ...OK, message });
const refuse: Answer = () => Promise.reject(new Error('called'));
function metadataOf(name: string, value: string | Buffer): Metadata {
  const metadata = new Metadata();
  metadata.set(name, value);
  return metadata;
}

describe('an upstream over a channel', () => {
  it('carries message, metadata and trailers unchanged', async () => {
    const upstream = await upstreamTo(
      ({ message, metadata }) => ({
        ...OK,
        message,
        trailers: metadataOf('seen-bin', Buffer.from(metadata.get('sent') ?? '')),
      }),
      [PATH],
    );
    const message = new Uint8Array([9, 0, 255, 9]).subarray(1, 3);
    const reply = await upstream.unary(unaryCall({ message, metadata: new Map([['sent', 'yes']]) }));
    expect(reply).toMatchObject({ code: status.OK, answered: true });
    expect([...(reply.message ?? [])]).toEqual([0, 255]);
    expect(reply.trailers?.get('seen-bin')).toEqual([Buffer.from('yes')]);
  });

  it('fails a reply larger than maxReplyBytes as unanswered, with details for the log', async () => {
    const upstream = await upstreamTo(echo, [PATH], { maxReplyBytes: 1_000 });
    expect((await upstream.unary(unaryCall({ message: Buffer.alloc(1_000) }))).code).toBe(status.OK);
    const reply = await upstream.unary(unaryCall({ message: Buffer.alloc(1_001) }));
    expect(reply).toEqual({
      code: status.INTERNAL,
      details: 'The reply is larger than maxReplyBytes. Received message larger than max (1001 vs 1000)',
      answered: false,
      clientMessage: 'The reply is larger than 1000 bytes, the maximum.',
    });
  });

  it('carries status, details and their trailers unchanged', async () => {
    const details = 'not 100% "found"\n📚';
    const trailers = metadataOf('grpc-status-details-bin', Buffer.from([1, 2, 255]));
    const upstream = await upstreamTo(
      () => ({ code: status.NOT_FOUND, details, answered: true, trailers }),
      [PATH],
    );
    const reply = await upstream.unary(unaryCall());
    expect(reply).toMatchObject({ code: status.NOT_FOUND, details, answered: true });
    expect(reply.trailers?.get('grpc-status-details-bin')).toEqual([Buffer.from([1, 2, 255])]);
    expect(reply.message).toBeUndefined();
  });

  it('cancels a call when its client disconnects and tells the server', async () => {
    const caller = new Caller();
    const cancelled = new Deferred<boolean>();
    const upstream = await upstreamTo(
      ({ cancellation }) => {
        cancellation.onCancelled(() => {
          cancelled.resolve(cancellation.cancelled);
        });
        caller.go();
        return new Promise(() => undefined);
      },
      [PATH],
    );
    const reply = await upstream.unary(unaryCall({ cancellation: caller }));
    expect(reply.code).toBe(status.CANCELLED);
    expect(await cancelled.promise).toBe(true);
  });

  it('returns UNAVAILABLE once it is closed, whatever credentials it gets', async () => {
    const upstream = await upstreamTo(echo, [PATH]);
    await upstream.unary(unaryCall());
    upstream.renew(credentials.createInsecure());
    upstream.close();
    upstream.renew(credentials.createInsecure());
    expect((await upstream.unary(unaryCall())).code).toBe(status.UNAVAILABLE);
  });
});

describe('a stream over a channel', () => {
  it.each([
    { why: 'its client has disconnected', more: { cancellation: new Caller().go() }, code: status.CANCELLED },
    { why: 'its deadline has passed', more: { deadline: 1 }, code: status.DEADLINE_EXCEEDED },
  ])('is not started if $why, nor is a call', async ({ more, code }) => {
    const upstream = await upstreamTo(refuse, [PATH]);
    expect(await upstream.unary(unaryCall(more))).toMatchObject({ code, answered: false });
    const stream = upstream.serverStream(unaryCall(more));
    expect(await stream.next()).toMatchObject({ code, answered: false });
  });
});

describe('a call over a channel', () => {
  it.each([
    ['connection', 'close'],
    ['transfer-encoding', 'chunked'],
    [':path', '/x'],
    ['trace-bin', 'AAA='],
    ['x-name', 'ü'],
  ])(
    'fails with INTERNAL if its metadata cannot be sent, and the connection stays open: %s',
    async (key, value) => {
      const upstream = await upstreamTo(echo, [PATH]);
      const metadata = new Map([[key, value]]);
      expect((await upstream.unary(unaryCall({ metadata }))).code).toBe(status.INTERNAL);
      expect((await upstream.unary(unaryCall())).code).toBe(status.OK);
    },
  );
});
