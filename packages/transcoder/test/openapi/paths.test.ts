import { describe, expect, it } from 'vitest';
import { describe as describeContract } from '../../src/openapi.js';
import type { Parameter } from '../../src/openapi.js';
import { branchImage, libraryDescriptorSet, withRule } from '../support/library-contract.js';
import { library, operationOf, shop } from '../support/described.js';

/** The ids of the operations by HTTP method and path. */
function idsOf(document: ReturnType<typeof shop>): string[] {
  return Object.entries(document.paths).flatMap(([path, byVerb]) =>
    Object.entries(byVerb).map(([verb, { operationId }]) => `${verb} ${path} ${operationId}`),
  );
}

const namesIn = (document: ReturnType<typeof shop>, id: string, place: string): string[] =>
  operationOf(document, id)
    .parameters.filter((parameter): parameter is Parameter => 'in' in parameter && parameter.in === place)
    .map(({ name, required }) => (required === true ? name : `${name}?`));

describe('the paths of a document', () => {
  it('have a parameter for each wildcard, named after its field, and an operation for each binding', () => {
    expect(idsOf(shop())).toEqual([
      'post /v1/sites/{parent}/shelves/{parent_2}/items createItem',
      'get /v1/sites/{name}/shelves/{name_2}/items/{name_3} Shop_getItem',
      'patch /v1/sites/{name}/shelves/{name_2}/items/{name_3} updateItem',
      'put /v1/sites/{name}/shelves/{name_2}/items/{name_3} updateItem_2',
      'delete /v1/sites/{name}/shelves/{name_2}/items/{name_3} dropItem',
      'get /v1/sites/{filter_site}/items:search searchItems',
      'post /v1/items:search searchItems_2',
      'get /v1/items:first searchItems_3',
      'get /v1/till/{name} Till_getItem',
    ]);
  });

  it('have an operation for each HTTP method of a rule, except those that OpenAPI lacks', () => {
    expect(idsOf(library()).filter((line) => /\/v1\/(?:locks|options|head|any)/.test(line))).toEqual([
      'options /v1/options echo_12',
      'head /v1/head echo_13',
      'get /v1/any/{string_value} echo_14',
      'post /v1/any/{string_value} echo_15',
      'put /v1/any/{string_value} echo_16',
      'patch /v1/any/{string_value} echo_17',
      'delete /v1/any/{string_value} echo_18',
    ]);
  });

  it('prefer specific rules to a general one, and have no body for GET', () => {
    const empty = { pattern: { case: 'custom', value: { kind: '*', path: '/v1/echo' } }, body: '*' } as const;
    const document = describeContract({ descriptorSet: withRule('TakeTime', empty) });
    const ids = idsOf(document).filter((line) => line.includes(' /v1/echo '));
    expect(ids.map((line) => line.replace(' /v1/echo', ''))).toEqual([
      'get echo',
      'post echo_2',
      'put takeTime',
      'patch takeTime_2',
      'delete takeTime_3',
    ]);
    expect(operationOf(document, 'takeTime')).toHaveProperty('requestBody');
    const other = { ...empty, pattern: { case: 'custom', value: { kind: '*', path: '/v1/times' } } } as const;
    const alone = describeContract({ descriptorSet: withRule('TakeTime', other) });
    expect(alone.paths['/v1/times']?.get).not.toHaveProperty('requestBody');
    expect(alone.paths['/v1/times']).not.toHaveProperty('head');
  });

  it('have the first of two templates that look the same', () => {
    const rules = [{ selector: 'library.v1.Library.GetBook', get: '/v1/{name=files/*}' }];
    const ids = idsOf(describeContract({ descriptorSet: libraryDescriptorSet, rules }));
    expect(ids.filter((line) => / \/v1\/files\/\{\w+\} /.test(line))).toEqual([
      'get /v1/files/{name} getBook',
    ]);
  });

  it('name a wildcard outside of any variable', () => {
    const rule = { pattern: { case: 'post', value: '/*/x-y/*/**' }, body: '*' } as const;
    const { paths } = describeContract({ descriptorSet: withRule('TakeTime', rule) });
    expect(paths['/{segment}/x-y/{segment_2}/{segment_3}']?.post?.parameters).toContainEqual({
      name: 'segment_3',
      in: 'path',
      description: 'Any number of segments, with the slashes between them.',
      schema: { type: 'string' },
      required: true,
      'x-multi-segment': true,
    });
  });

  it('are those of the served services and rules, without the methods that `skip` leaves out', () => {
    expect(Object.keys(shop({ services: ['shop.v1.Till'] }).paths)).toEqual(['/v1/till/{name}']);
    const stream = withRule('Upload', { pattern: { case: 'post', value: '/v1/stream' } });
    expect(() => describeContract({ descriptorSet: stream })).toThrow('streams of requests');
    const paths = Object.keys(describeContract({ descriptorSet: stream, unsupported: 'skip' }).paths);
    expect(paths).toEqual(Object.keys(library().paths));
    expect(Object.keys(describeContract({ descriptorSet: branchImage }).paths)).not.toContain('/v1/shelves');
  });
});

describe('the parameters of an operation', () => {
  it('are the fields outside of path and body, including those of nested messages', () => {
    expect(namesIn(shop(), 'searchItems', 'path')).toEqual(['filter_site']);
    expect(namesIn(shop(), 'searchItems', 'query')).toEqual(['filter.text', 'sizes?', 'fast?', 'pageToken?']);
    expect(namesIn(shop(), 'searchItems_3', 'query')).toEqual([
      'filter.site?',
      'filter.text',
      'sizes?',
      'fast?',
      'pageToken?',
    ]);
    expect(namesIn(shop(), 'searchItems_2', 'query')).toEqual([]);
    expect(namesIn(shop(), 'createItem', 'query')).toEqual(['validateOnly?', 'requestId?']);
  });

  it('have the schemas of their fields', () => {
    const { parameters } = operationOf(shop(), 'searchItems');
    expect(parameters).toEqual(
      expect.arrayContaining([
        {
          name: 'sizes',
          in: 'query',
          schema: { type: 'array', items: { $ref: '#/components/schemas/Size' } },
        },
        { name: 'fast', in: 'query', schema: { type: 'boolean' } },
        { name: 'pageToken', in: 'query', deprecated: true, schema: { type: 'string' } },
      ]),
    );
    expect(operationOf(shop(), 'createItem').parameters).toContainEqual({
      name: 'validateOnly',
      in: 'query',
      schema: { type: 'boolean', default: false },
    });
  });

  it('say which part of a field a wildcard is', () => {
    expect(operationOf(shop(), 'updateItem').parameters[1]).toEqual({
      name: 'name_2',
      in: 'path',
      description: 'Its name.\n\n`sites/{name}/shelves/{name_2}/items/{name_3}` is the `item.name`.',
      schema: { type: 'string' },
      required: true,
    });
  });

  it('have the bounds and the example of a field if they are the whole field', () => {
    const facts = { 'shop.v1.GetItemRequest': { name: { bounds: { minLength: 2 }, example: 'ab' } } };
    const schema = { type: 'string', minLength: 2, examples: ['ab'] };
    expect(operationOf(shop({ facts }), 'Till_getItem').parameters[0]).toMatchObject({
      name: 'name',
      schema,
    });
    expect(operationOf(shop({ facts }), 'Shop_getItem').parameters[0]).toMatchObject({
      name: 'name',
      schema: { type: 'string' },
    });
  });
});
