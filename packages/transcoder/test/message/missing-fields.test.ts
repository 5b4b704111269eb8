import { create } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';
import { HttpRuleSchema } from '../../src/gen/google/api/http_pb.js';
import { RequestMessages } from '../../src/message/request-message.js';
import { bindingsOf } from '../../src/template/binding.js';
import { startEcho } from '../support/echo.js';
import { firstOf, legacyDescriptorSet, methodOf, registry } from '../support/library-contract.js';
import { refusal } from '../support/refusal.js';

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

it('a message that cannot be serialized for another reason is an internal failure with that reason', () => {
  const requests = new RequestMessages(registry);
  const rule = create(HttpRuleSchema, { pattern: { case: 'get', value: '/v1/echo' } });
  const binding = firstOf(bindingsOf(methodOf('Probe.Echo'), rule));
  const message = requests.read(binding, { segments: [], query: '', body: undefined });
  Object.assign(message, { int32Value: 2 ** 40 });
  const failure = refusal(() => requests.encode(binding, message));
  expect(failure).toMatchObject({ reason: 'INTERNAL' });
  expect(String(failure.cause)).toContain('int32');
});
