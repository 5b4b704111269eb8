import { expect, it } from 'vitest';
import { fieldsOf, type HttpResponse, httpRequest } from '../support/http-request.js';
import { legacyDescriptorSet } from '../support/library-contract.js';
import { startTranscoder } from '../support/library-transcoder.js';
import { opening } from '../support/opening.js';

const ITEM = { name: 'a' };

async function place(body: object): Promise<HttpResponse> {
  const gateway = opening(
    await startTranscoder({
      descriptorSet: legacyDescriptorSet,
      guard: undefined,
      upstream: { unary: ({ message }) => ({ code: 0, details: '', answered: true, message }) },
    }),
  );
  const headers = { 'content-type': 'application/json' };
  return httpRequest(gateway.origin, {
    method: 'POST',
    path: '/v1/orders',
    headers,
    body: JSON.stringify(body),
  });
}

it.each([
  { body: {}, fields: ['id'] },
  { body: { id: 'a', sub: {} }, fields: ['sub.name'] },
  {
    body: { sub: {}, items: [ITEM, {}], byName: { x: {} } },
    fields: ['id', 'sub.name', 'items[1].name', 'by_name[x].name'],
  },
])('a request without the fields that proto2 requires is 400 and names $fields', async ({ body, fields }) => {
  const response = await place(body);
  expect([response.status, fieldsOf(response)]).toEqual([400, fields]);
});

it('a request with the fields that proto2 requires is served', async () => {
  const full = { id: '', sub: ITEM, items: [ITEM], byName: { x: ITEM }, tags: ['a'], notes: { a: 'b' } };
  expect((await place(full)).status).toBe(200);
  const missing = await place({ ...full, id: undefined });
  expect(fieldsOf(missing)).toEqual(['id']);
});
