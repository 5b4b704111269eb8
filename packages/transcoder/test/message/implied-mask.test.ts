import { create, type JsonValue, toJson } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';
import { HttpRuleSchema } from '../../src/gen/google/api/http_pb.js';
import { RequestMessages } from '../../src/message/request-message.js';
import { bindingsOf } from '../../src/template/binding.js';
import { firstOf, messageType, methodOf, registry } from '../support/library-contract.js';

const lenient = new RequestMessages(registry, { lenient: true, ignoreUnknown: true });

/** The request message of a PATCH as JSON. */
function patched(method: string, body: string, json: JsonValue, query = '', verb = 'PATCH'): unknown {
  const pattern = { case: 'custom', value: { kind: verb, path: '/a' } } as const;
  const binding = firstOf(bindingsOf(methodOf(method), create(HttpRuleSchema, { pattern, body })));
  const message = lenient.read(binding, { segments: [], query, body: json });
  return toJson(binding.method.input, message, { registry });
}

const update = (json: JsonValue, query?: string): unknown =>
  patched('Library.UpdateBook', 'book', json, query);

it.each<[json: JsonValue, updateMask: string, why: string]>([
  [{ title: 'T' }, 'title', 'a field is a path'],
  [{ title: 'T', name: '' }, 'name,title', 'a default counts, and paths are sorted'],
  [{ authors: [{ name: 'A' }] }, 'authors', 'a list is one path'],
  [{ title: 'T', nothing: 1 }, 'title', 'an ignored field is not a path'],
])('the mask of a PATCH of %j is %s: %s', (json, updateMask) => {
  expect(update(json)).toMatchObject({ updateMask });
});

it('a PATCH keeps its own mask, unless it is empty', () => {
  expect(update({ title: 'T' }, 'update_mask=authors')).toMatchObject({ updateMask: 'authors' });
  expect(update({ title: 'T' }, 'update_mask=')).toMatchObject({ updateMask: 'title' });
});

it.each(['POST', 'PUT'])('no mask is made for %s', (verb) => {
  expect(patched('Library.UpdateBook', 'book', { title: 'T' }, '', verb)).toEqual({ book: { title: 'T' } });
});

it('the mask has the paths of nested fields, by their names in the contract', () => {
  const json = {
    nested: { oddName: 1, Odd: 'a', stringList: [], time: '2026-01-02T03:04:05Z' },
    thirdChoice: {},
  };
  expect(patched('Probe.Echo', 'nested', json)).toMatchObject({
    fieldMask: 'nested.oddName,nested.stringList,nested.time,thirdChoice',
  });
});

it.each<{ body: string; json: JsonValue; why: string }>([
  { body: '*', json: { stringValue: 'a' }, why: 'the whole request is the body' },
  { body: 'string_value', json: 'a', why: 'the body is not a message' },
  { body: 'nested', json: null, why: 'the body is null' },
])('no mask is made if $why', ({ body, json }) => {
  expect(patched('Probe.Echo', body, json)).not.toHaveProperty('fieldMask');
});

it('no mask is made for a request without a mask field', () => {
  expect(messageType('CreateLoanRequest').fields).toHaveLength(1);
  expect(patched('Library.CreateLoan', 'loan', { holder: 'a' })).toEqual({ loan: { holder: 'a' } });
});
