import fc from './support/fast-check.js';
import type { JsonObject } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { feedMessage, startFeed } from './support/feed-server.js';
import { httpRequest, type HttpResponse } from './support/http-request.js';
import { messageType } from './support/library-contract.js';
import { MEMBER } from './support/library-server.js';
import { sharedTranscoder } from './support/shared-transcoder.js';

const { send } = sharedTranscoder();

const RUNS = { numRuns: 200 };
/** Of long responses. */
const FEWER_RUNS = { numRuns: 50 };

/** JSON objects whose keys are mostly names of fields. */
const names = messageType('Everything').fields.flatMap(({ name, jsonName }) => [name, jsonName]);
const nearJson = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.jsonValue({ maxDepth: 2 }),
    fc.constant('1.5s'),
    tie('object'),
    fc.array(tie('object'), { maxLength: 2 }),
  ),
  object: fc.dictionary(
    fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...names) }, { weight: 1, arbitrary: fc.string() }),
    tie('value'),
    { maxKeys: 3 },
  ),
})).object;

function post(body: string | Uint8Array, headers = {}): Promise<HttpResponse> {
  const all = { authorization: MEMBER, 'content-type': 'application/json', ...headers };
  return send({ method: 'POST', path: '/v1/echo', headers: all, body });
}

describe('a response', () => {
  it('is accepted as a request, whose response has the same bytes', async () => {
    await fc.assert(
      fc.asyncProperty(nearJson, async (value) => {
        const first = await post(JSON.stringify(value));
        fc.pre(first.status === 200);
        expect(await post(first.text)).toMatchObject({ status: 200, text: first.text });
      }),
      RUNS,
    );
  });
});

/** A few random bytes, repeated up to the length of several pieces of a response. */
const bytes = fc
  .tuple(fc.nat(50_000), fc.uint8Array({ minLength: 1, maxLength: 60 }))
  .map(([length, repeated]) => Buffer.alloc(length, repeated));
/** An `Entry` in JSON. */
const entry = fc.record({
  number: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
  text: fc.string({ unit: 'grapheme' }),
  content: bytes.map((data) => data.toString('base64')),
});

describe('a stream of any messages', () => {
  it.each([
    { form: 'lines', accept: '*/*', separator: '\n', before: '', last: [''] },
    {
      form: 'events',
      accept: 'text/event-stream',
      separator: '\n\n',
      before: 'data: ',
      last: ['event: end\ndata: {}', ''],
    },
  ])('arrives as $form that decode to the same messages', async ({ accept, separator, before, last }) => {
    let messages: JsonObject[] = [];
    const { origin } = await startFeed((call) => {
      for (const message of messages) call.write(feedMessage('Entry', message));
      call.end();
    });
    await fc.assert(
      fc.asyncProperty(fc.array(entry, { maxLength: 8 }), async (sent) => {
        messages = sent;
        const { text } = await httpRequest(origin, { path: '/v1/topics/a/entries', headers: { accept } });
        const parts = text.split(separator);
        expect(parts.splice(-last.length)).toEqual(last);
        expect(parts.map((part) => part.slice(0, before.length))).toEqual(sent.map(() => before));
        expect(parts.map((part) => JSON.parse(part.slice(before.length)) as unknown)).toEqual(sent);
      }),
      FEWER_RUNS,
    );
  });
});
