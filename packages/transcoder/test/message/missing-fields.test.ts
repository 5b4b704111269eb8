import { expect, it } from 'vitest';
import { startEcho } from '../support/echo.js';
import { legacyDescriptorSet } from '../support/library-contract.js';

const ITEM = { name: 'a' };

it.each([
  { body: {}, fields: ['id'] },
  { body: { id: 'a', sub: {} }, fields: ['sub.name'] },
  {
    body: { sub: {}, items: [ITEM, {}], byName: { x: {} } },
    fields: ['id', 'sub.name', 'items[1].name', 'by_name[x].name'],
  },
])('a request without the fields that proto2 requires is 400 and names $fields', async ({ body, fields }) => {
  const echo = await startEcho({ descriptorSet: legacyDescriptorSet });
  expect(await echo('POST', '/v1/orders', body)).toEqual([400, fields]);
});

it('a request with the fields that proto2 requires is served', async () => {
  const full = { id: '', sub: ITEM, items: [ITEM], byName: { x: ITEM }, tags: ['a'], notes: { a: 'b' } };
  const echo = await startEcho({ descriptorSet: legacyDescriptorSet });
  expect((await echo('POST', '/v1/orders', full))[0]).toBe(200);
  const { id, ...others } = full;
  expect(await echo('POST', '/v1/orders', others)).toEqual([400, ['id']]);
  expect(id).toBe('');
});
