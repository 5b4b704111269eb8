import { parseSseStream } from '@a2a-js/sdk';
import { create, type DescFile, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { CheckResourcesResponseSchema } from '@cerbos/api/cerbos/response/v1/response_pb';
import { CerbosService } from '@cerbos/api/cerbos/svc/v1/svc_pb';
import { Effect } from '@cerbos/api/cerbos/effect/v1/effect_pb';
import { HTTP } from '@cerbos/http';
import { expect, it } from 'vitest';
import { Code } from '../src/gen/google/rpc/code_pb.js';
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

it.each([
  { what: 'the end of a stream is no message', end: {}, failure: [] },
  {
    what: 'a failure is a message with an error',
    end: { code: Code.ABORTED, details: 'cut' },
    failure: [{ error: expect.objectContaining({ message: 'cut' }) as object }],
  },
])("to A2A's SDK, with plain events, $what", async ({ end, failure }) => {
  const upstream = streaming(end);
  const { origin } = await openTranscoder({
    descriptorSet: feedDescriptorSet,
    guard: undefined,
    events: 'plain',
    upstream,
  });
  const headers = { accept: 'text/event-stream' };
  const events = parseSseStream(await fetch(`${origin}/v1/topics/news/entries`, { headers }));
  const read: { readonly type: string; readonly data: string }[] = [];
  for await (const event of events) read.push(event);
  expect(read.map(({ type }) => type)).toEqual(read.map(() => 'message'));
  expect(read.slice(1).map(({ data }) => JSON.parse(data) as unknown)).toEqual(failure);
});
