import { AgentCard } from '@a2a-js/sdk';
import { RestTransportFactory } from '@a2a-js/sdk/client';
import { create, type DescFile, toBinary } from '@bufbuild/protobuf';
import { anyPack, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { CheckResourcesResponseSchema } from '@cerbos/api/cerbos/response/v1/response_pb';
import { CerbosService } from '@cerbos/api/cerbos/svc/v1/svc_pb';
import { Effect } from '@cerbos/api/cerbos/effect/v1/effect_pb';
import { HTTP } from '@cerbos/http';
import { describe, expect, it } from 'vitest';
import { Code } from '../src/gen/google/rpc/code_pb.js';
import { ErrorInfoSchema } from '../src/gen/google/rpc/error_details_pb.js';
import { StatusSchema } from '../src/gen/google/rpc/status_pb.js';
import type { UnaryReply, Upstream } from '../src/upstream.js';
import { feedDescriptorSet } from './support/library-contract.js';
import { openTranscoder } from './support/library-transcoder.js';

/** A file and all that it imports, imports first. */
function withImports(file: DescFile): DescFile[] {
  return [...new Set([...file.dependencies.flatMap(withImports), file])];
}

it('the HTTP client of Cerbos, which sends JSON as text/plain, is served with lenient', async () => {
  const file = [...new Set(withImports(CerbosService.file))].map(({ proto }) => proto);
  const results = [
    { resource: { id: '1', kind: 'shelf' }, actions: { read: Effect.ALLOW, burn: Effect.DENY } },
  ];
  const message = toBinary(CheckResourcesResponseSchema, create(CheckResourcesResponseSchema, { results }));
  const { origin, log } = await openTranscoder({
    descriptorSet: toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file })),
    services: [CerbosService.typeName],
    guard: undefined,
    lenient: true,
    upstream: { unary: () => ({ code: Code.OK, details: '', answered: true, message }) },
  });
  const client = new HTTP(origin);
  const principal = { id: 'ann', roles: ['member'] };
  const decision = await client.checkResource({
    principal,
    resource: { id: '1', kind: 'shelf' },
    actions: ['read', 'burn'],
  });
  expect([decision.isAllowed('read'), decision.isAllowed('burn')]).toEqual([true, false]);
  expect(log.map(({ message: line }) => line)).toEqual(['request answered']);
});

/** A stream of one message, which then ends so. */
function streaming(end: Partial<UnaryReply>): Upstream {
  return {
    unary: () => ({ code: Code.OK, details: '', answered: true }),
    serverStream() {
      const items = [new Uint8Array(), { code: Code.OK, details: '', answered: true, ...end }];
      return { next: () => Promise.resolve(items.shift() as Uint8Array) };
    },
  };
}

describe("A2A's SDK, with plain events", () => {
  /** Follows a task whose stream has one message, and then ends so. */
  async function follow(end: Partial<UnaryReply>) {
    const { origin } = await openTranscoder({
      descriptorSet: feedDescriptorSet,
      rules: [{ selector: 'feed.v1.Feed.Follow', post: '/tasks/{topic}:subscribe' }],
      guard: undefined,
      events: 'plain',
      upstream: streaming(end),
    });
    const client = await new RestTransportFactory().create(origin, AgentCard.fromJSON({}));
    return client.resubscribeTask({ tenant: '', id: 'news' });
  }

  it('takes every message of a stream as one, and its end as none', async () => {
    const events = await follow({});
    expect(await events.next()).toMatchObject({ done: false });
    expect(await events.next()).toMatchObject({ done: true });
  });

  it('throws the error that a stream fails with, by its reason', async () => {
    const details = [anyPack(ErrorInfoSchema, create(ErrorInfoSchema, { reason: 'TASK_NOT_FOUND' }))];
    const failure = toBinary(StatusSchema, create(StatusSchema, { message: 'It is gone.', details }));
    const trailers = { get: () => [Buffer.from(failure)] };
    const events = await follow({ code: Code.NOT_FOUND, trailers });
    expect(await events.next()).toMatchObject({ done: false });
    await expect(events.next()).rejects.toMatchObject({ name: 'TaskNotFoundError', message: 'It is gone.' });
  });
});
