import { create, toBinary } from '@bufbuild/protobuf';
import {
  EditionSchema,
  FieldDescriptorProto_TypeSchema,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { OpenApi, Parameter } from '../../src/openapi.js';
import { createTranscoder, unboundRules } from '../../src/index.js';
import { describe as describeContract } from '../../src/openapi.js';
import { ContractComments } from '../../src/openapi/contract-comments.js';
import { Names } from '../../src/openapi/names.js';
import { VERBS } from '../../src/openapi/open-api.js';
import { httpRequest } from '../support/http-request.js';
import { shopImage, unmarkedBranch } from '../support/library-contract.js';
import { startTranscoder } from '../support/library-transcoder.js';
import { library, operationOf, propertyOf, schemaOf, shop } from '../support/described.js';

describe('an OpenAPI document', () => {
  it("has the contract's title, version and comment, or the given ones", () => {
    const { info, openapi } = shop();
    expect(openapi).toBe('3.1.1');
    expect(info).toMatchObject({ title: 'shop.v1', version: 'v1' });
    expect(info.description).toBe('Shops and what they sell.');
    const ownInfo = { title: 'A', version: '7', description: 'B.', license: { name: 'MIT' } };
    expect(shop({ info: ownInfo }).info).toEqual(ownInfo);
    expect(shop({ comments: {} }).info.description).toBe('The methods of shop.v1 over HTTP.');
  });

  it('names in its text the prefixes of headers and the ignored parameters, for which OpenAPI has no place', () => {
    const document = shop({
      forwardedHeaders: new Map<string, 'drop' | { unfit: 'refuse'; metadata: string }>([
        ['x-tenant', { unfit: 'refuse', metadata: 'tenant' }],
        ['grpc-metadata-*', 'drop'],
      ]),
      responseHeaders: new Map([
        ['tenant', 'X-Tenant'],
        ['*', 'Grpc-Metadata-*'],
      ]),
      ignoredParameters: new Set(['pageToken', 'utm_*']),
    });
    expect(document.info.description).toMatch(
      /\n\nThe headers `grpc-metadata-\*` of a request are passed on to the service\.\n\nThe headers `Grpc-Metadata-\*` of a response come from the service\.\n\nThe query parameters `pageToken`, `utm_\*` are ignored where a method has no such field\.$/,
    );
    expect(Object.keys(document.components.parameters)).toEqual([
      'Request-Timeout',
      'x-tenant',
      'If-Match',
      'If-None-Match',
    ]);
    const { responses, parameters } = operationOf(document, 'Shop_getItem');
    expect(JSON.stringify(responses)).toContain('"X-Tenant"');
    expect(JSON.stringify(responses)).not.toContain('*"');
    expect(JSON.stringify(parameters)).not.toContain('grpc-metadata');
    const { parameters: query } = operationOf(document, 'searchItems');
    expect(JSON.stringify(query)).toContain('"filter.text"');
    expect(JSON.stringify(query)).toContain('"pageToken"');
  });

  it('is about the package of the given domain, whatever other packages the contract has', () => {
    const serving = { descriptorSet: unmarkedBranch, unsupported: 'skip' } as const;
    const schemas = (domain: string) => describeContract({ ...serving, domain }).components.schemas;
    expect(schemas('library.v1')).toHaveProperty(['Shelf']);
    expect(schemas('branch.v1')).toHaveProperty(['library.v1.Shelf']);
    expect(schemas('example.com')).toHaveProperty(['Shelf']);
  });

  it('has the place that it is at as its server, or the given servers', () => {
    expect(shop({ basePath: '/api' }).servers).toEqual([{ url: '.' }]);
    expect(shop({ basePath: '/api', servers: [{ url: 'https://a.example' }] }).servers).toEqual([
      { url: 'https://a.example' },
    ]);
  });

  it('has an optional bearer token, unless no token is forwarded or security is given', () => {
    expect(shop().security).toEqual([{ bearer: [] }, {}]);
    expect(shop().components.securitySchemes).toEqual({ bearer: { type: 'http', scheme: 'bearer' } });
    expect(shop({ forwardedHeaders: new Map() })).toMatchObject({
      security: [],
      components: { securitySchemes: {} },
    });
    const schemes = { key: { type: 'apiKey', in: 'header', name: 'X-Key' } };
    const methods = { 'shop.v1.Shop.CreateItem': [{ key: ['write'] }] };
    const secured = shop({ security: { schemes, requirements: [{ key: [] }], methods } });
    expect(secured).toMatchObject({ security: [{ key: [] }], components: { securitySchemes: schemes } });
    expect(operationOf(secured, 'createItem').security).toEqual([{ key: ['write'] }]);
    expect(operationOf(secured, 'dropItem')).not.toHaveProperty('security');
  });

  it('takes the options of a transcoder and no unknown ones', () => {
    const options = {
      descriptorSet: shopImage,
      upstream: { unary: () => ({ code: 0, details: '', answered: true }) },
    };
    expect(createTranscoder(options).skipped).toEqual([]);
    expect(describeContract(options)).toEqual(shop());
    expect(() => describeContract({ ...options, fact: {} } as typeof options)).toThrow(
      'There is no option "fact".',
    );
  });

  it('has a tag for each service, and marks deprecated operations', () => {
    expect(shop().tags).toEqual([
      { name: 'Shop', description: 'Sells items.' },
      { name: 'Till', description: 'The methods of shop.v1.Till.' },
    ]);
    expect(operationOf(shop(), 'dropItem')).toMatchObject({ deprecated: true, tags: ['Shop'] });
    expect(operationOf(shop(), 'Till_getItem')).toMatchObject({ deprecated: true, tags: ['Till'] });
    expect(operationOf(shop(), 'createItem')).not.toHaveProperty('deprecated');
  });
});

describe('the headers', () => {
  const referred = (document: OpenApi, id: string): string[] =>
    operationOf(document, id).parameters.flatMap((parameter) =>
      '$ref' in parameter ? [parameter.$ref.split('/').at(-1) ?? ''] : [],
    );

  it('of requests are the forwarded ones, and the request id if it is read', () => {
    expect(referred(shop(), 'createItem')).toEqual(['Request-Timeout', 'traceparent', 'tracestate']);
    const forwardedHeaders = new Map([
      ['authorization', 'mask'],
      ['x-tenant', 'refuse'],
    ] as const);
    const options = {
      forwardedHeaders,
      requestIdOf: String,
      headers: { 'X-Tenant': { description: 'Whose.', bounds: { maxLength: 3 } } },
    };
    const own = shop(options);
    expect(referred(own, 'createItem')).toEqual(['X-Request-Id', 'Request-Timeout', 'X-Tenant']);
    expect(own.components.parameters['X-Tenant']).toEqual({
      name: 'X-Tenant',
      in: 'header',
      description: 'Whose.',
      schema: { type: 'string', maxLength: 3 },
    });
    expect(shop({ ...options, headers: {} }).components.parameters['x-tenant']).toEqual({
      name: 'x-tenant',
      in: 'header',
      schema: { type: 'string' },
    });
  });

  it('that stand for a field are parameters of the methods with that field', () => {
    const forwardedHeaders = new Map([['idempotency-key', 'refuse']] as const);
    const headers = { 'Idempotency-Key': { field: 'request_id' } };
    const facts = { 'shop.v1.CreateItemRequest': { requestId: { bounds: { maxLength: 5 } } } };
    const own = shop({ forwardedHeaders, headers, facts });
    const inHeader = (id: string) =>
      operationOf(own, id).parameters.filter(
        (parameter): parameter is Parameter => 'in' in parameter && parameter.in === 'header',
      );
    expect(inHeader('createItem')).toEqual([
      {
        name: 'Idempotency-Key',
        in: 'header',
        description: 'The same as `request_id`, as a header.',
        schema: { type: 'string', maxLength: 5 },
      },
    ]);
    expect(inHeader('dropItem')).toEqual([]);
    const told = { 'Idempotency-Key': { field: 'request_id', description: 'Once.' } };
    const other = shop({ forwardedHeaders, headers: told });
    expect(operationOf(other, 'createItem').parameters).toContainEqual(
      expect.objectContaining({ name: 'Idempotency-Key', description: 'Once.' }),
    );
    const bounded = { 'Idempotency-Key': { field: 'request_id', bounds: { minLength: 2, maxLength: 4 } } };
    const another = shop({ forwardedHeaders, headers: bounded, facts });
    expect(operationOf(another, 'createItem').parameters).toContainEqual(
      expect.objectContaining({ schema: { type: 'string', minLength: 2, maxLength: 4 } }),
    );
  });

  it('of requests are listed once, even if those that the transcoder reads are forwarded, too', () => {
    const forwardedHeaders = new Map([
      ['if-none-match', 'drop'],
      ['request-timeout', 'drop'],
    ] as const);
    const own = shop({ forwardedHeaders, headers: { 'If-None-Match': { bounds: { maxLength: 9 } } } });
    const names = ['If-Match', 'If-None-Match', 'Request-Timeout'];
    expect(referred(own, 'Shop_getItem').sort()).toEqual(names);
    expect(referred(own, 'createItem').sort()).toEqual(names.slice(1));
    expect(own.components.parameters['If-None-Match']?.schema).toEqual({ type: 'string', maxLength: 9 });
  });

  it('of responses include those from metadata', () => {
    const own = shop({ responseHeaders: new Map([['x-quota', 'X-Quota']]) });
    const quota = {
      description: 'The `x-quota` that the service sends.',
      required: false,
      schema: { type: 'string' },
    };
    expect(operationOf(own, 'dropItem').responses['200']).toMatchObject({ headers: { 'X-Quota': quota } });
    expect(own.components.responses['Error400']).toMatchObject({ headers: { 'X-Quota': quota } });
  });

  it('of responses have the given facts; those that depend on a request field are in the successes of its methods', () => {
    const own = shop({
      responseHeaders: new Map([['repeated', 'Repeated']]),
      headers: { repeated: { description: 'A repeat.', bounds: { const: 'yes' }, field: 'request_id' } },
    });
    const repeated = { description: 'A repeat.', required: false, schema: { type: 'string', const: 'yes' } };
    expect(operationOf(own, 'createItem').responses['201']).toMatchObject({
      headers: { Repeated: repeated },
    });
    expect(JSON.stringify(operationOf(own, 'dropItem').responses)).not.toContain('Repeated');
    expect(JSON.stringify(own.components.responses)).not.toContain('Repeated');
  });
});

describe('a comment', () => {
  it('becomes a summary and a description, without notes for the authors', () => {
    expect(operationOf(shop(), 'createItem')).toMatchObject({
      summary: 'Stores an `Item` with its `displayName`',
      description: 'Fails with `ITEM_EXISTS`.\n\nIt takes\n- one item\n- at a time',
    });
    expect(operationOf(shop(), 'updateItem')).toMatchObject({
      summary: 'Update item',
      description: 'Changes an item',
    });
    expect(operationOf(shop(), 'searchItems')).toMatchObject({ summary: 'Search items' });
    expect(operationOf(shop(), 'searchItems')).not.toHaveProperty('description');
    expect(operationOf(shop(), 'createItem').requestBody).toMatchObject({ required: true });
  });

  it('may be given in place of the one in the descriptor set', () => {
    const comments = { 'shop.v1.Shop.CreateItem': 'Makes one. Quickly.', 'shop.v1.Shop': 'A shop.' };
    const own = shop({ comments });
    expect(operationOf(own, 'createItem')).toMatchObject({ summary: 'Makes one', description: 'Quickly.' });
    expect(own.tags[0]).toEqual({ name: 'Shop', description: 'A shop.' });
    expect(schemaOf(own, 'Item')).not.toHaveProperty('description');
  });

  it.each([
    ['one\ntwo', 'one two'],
    [' one\n\n two', 'one\n\ntwo'],
    ['- one\n- two', '- one\n- two'],
    ['1. one\n2. two', '1. one\n2. two'],
    ['a:\n\n     code\n     more', 'a:\n\n    code\n    more'],
    ['See [the `x`][a.b.x] and [y](z).', 'See `the x` and [y](z).'],
    ['(-- for\nauthors --)a', 'a'],
  ])('becomes Markdown for REST clients: %j', (comment, text) => {
    expect(new ContractComments({ x: comment }).ofPackage('x', [])).toBe(text);
  });

  it('is empty if there is none, whatever the name', () => {
    expect(new ContractComments({}).ofPackage('constructor', [])).toBe('');
  });

  it.each([
    ['shop.v1', 'of the methods of the package'],
    ['shop.v1.Shop', 'of the methods of the service'],
    ['shop.v1.Shop.SearchItems', 'of its input, and within it'],
    ['shop.v1.SearchItemsRequest', 'of the message'],
    ['shop.v1.SearchItemsRequest.page_token', 'of the message that has it'],
  ])('of %s has the JSON names of fields %s, and leaves other words as they are', (name) => {
    const comment = '`page_token`, the metadata `route_id`, `page_token.x` and `created_at`.';
    const { info, tags, paths, components } = shop({ comments: { [name]: comment } });
    const texts = JSON.stringify([info, tags, paths, components]);
    expect(texts.includes(comment.replace('page_token', 'pageToken').slice(0, -1))).toBe(true);
  });

  it('names fields of messages in its message as JSON does', () => {
    const comments = { 'shop.v1.CreateItemRequest.item': 'Without `display_name`.' };
    const request = shop({
      comments,
      rules: [{ selector: 'shop.v1.Shop.CreateItem', post: '/v1/items', body: '*' }],
    });
    expect(propertyOf(request, 'CreateItemRequestInput', 'item')).toMatchObject({
      description: 'Without `displayName`.',
    });
  });

  it('of an enum or its value names fields of the message that it is in', () => {
    const comment = 'As `type_name` has it.';
    const inMessage = FieldDescriptorProto_TypeSchema;
    const [value] = inMessage.values;
    const comments = new ContractComments({
      [inMessage.typeName]: comment,
      [`${inMessage.typeName}.${value?.name}`]: comment,
      [EditionSchema.typeName]: comment,
    });
    const texts = [inMessage, ...inMessage.values.slice(0, 1), EditionSchema].map((type) =>
      comments.text(type),
    );
    expect(texts).toEqual(['As `typeName` has it.', 'As `typeName` has it.', comment]);
  });
});

describe('names', () => {
  it('are unique: the first free choice, or the last choice with a number', () => {
    const names = new Names(['Error']);
    const [first, second, third] = [{}, {}, {}];
    expect([names.of(first, 'Error', 'a.Error'), names.of(first, 'Error', 'a.Error')]).toEqual([
      'a.Error',
      'a.Error',
    ]);
    names.of('taken', 'a.Error_3');
    expect([names.of(second, 'a.Error'), names.of(third, 'a.Error')]).toEqual(['a.Error_2', 'a.Error_4']);
    expect(names.of(second, 'a.Error')).toBe('a.Error_2');
  });
});

it('the transcoder serves every operation', async () => {
  const unary = () => ({ code: 7, details: 'Nobody may.', answered: true });
  const running = await startTranscoder({ upstream: { unary }, guard: undefined });
  onTestFinished(() => running.close());
  const operations = Object.entries(library().paths).flatMap(([path, item]) =>
    VERBS.filter((verb) => item[verb] !== undefined).map((verb) => [verb.toUpperCase(), path] as const),
  );
  const statuses = await Promise.all(
    operations.map(async ([method, path]) => {
      const request = { method, path: path.replaceAll(/\{\w+\}/g, '1') };
      return (await httpRequest(running.origin, request)).status;
    }),
  );
  expect(operations.length).toBeGreaterThan(30);
  expect(statuses.filter((status) => ![400, 403].includes(status))).toEqual([]);
});

it('10,000 bindings are described, and the text says whether there are more', () => {
  const method = Array.from({ length: 10_001 }, (_, index) => ({
    name: `Call${index}`,
    inputType: '.a.M',
    outputType: '.a.M',
  }));
  const file = [
    { name: 'a.proto', package: 'a', messageType: [{ name: 'M' }], service: [{ name: 'S', method }] },
  ];
  const descriptorSet = toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file }));
  const { info, paths } = describeContract({ descriptorSet, rules: unboundRules(descriptorSet) });
  expect(Object.keys(paths)).toHaveLength(10_000);
  expect(paths).toHaveProperty(['/a.S/Call9999']);
  expect(info.description).toContain(
    'This document has the first 10,000 of 10,001 bindings; the others are served, too.',
  );
});
