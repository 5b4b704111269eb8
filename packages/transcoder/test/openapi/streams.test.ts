import { expect, it } from 'vitest';
import { describe as describeContract, type DescriptionOptions, type Response } from '../../src/openapi.js';
import { feedDescriptorSet } from '../support/library-contract.js';
import { operationOf } from '../support/described.js';

function successOf(operationId: string, options: Partial<DescriptionOptions> = {}): Response {
  const document = describeContract({ descriptorSet: feedDescriptorSet, ...options });
  return operationOf(document, operationId).responses['200'] as Response;
}

it('a stream is described as lines and as events, each with the schema of a message', () => {
  const { content, headers } = successOf('follow');
  const schema = { $ref: '#/components/schemas/Entry' };
  expect(content).toEqual({ 'application/x-ndjson': { schema }, 'text/event-stream': { schema } });
  expect(Object.keys(headers)).toEqual(['X-Request-Id', 'Cache-Control', 'Vary', 'X-Accel-Buffering']);
});

it('a stream of one field is described with the schema of the field', () => {
  expect(successOf('follow_3').content?.['application/x-ndjson']).toEqual({ schema: { type: 'string' } });
});

it('a stream is described as the lines of grpc-gateway with the option lenient', () => {
  const schema = { $ref: '#/components/schemas/Entry' };
  expect(successOf('createEntry', { lenient: true }).content).toEqual({
    'application/json': { schema: { type: 'object', properties: { result: schema } } },
    'text/event-stream': { schema },
  });
});

it('a stream is described with its end: by an event `end` or `failure`, or plainly with the option events', () => {
  const failing = (event: string): string =>
    `A message on each line, or as the data of each event. A stream that fails ends with the line \`{"error":…}\`, or with an event \`${event}\` that has this as its data.`;
  expect(successOf('follow').description).toBe(
    `${failing('failure')} Any other stream of events ends with an event \`end\`.`,
  );
  expect(successOf('follow', { events: 'plain' }).description).toBe(failing('error'));
});

it('streams are refused for an upstream without streams', () => {
  const upstream = { unary: () => ({ code: 0, details: '', answered: true }) };
  expect(() => successOf('follow', { upstream })).toThrow('the upstream serves no streams');
});

const BYTES = { '*/*': { schema: { type: 'string', format: 'binary' } } };

it('google.api.HttpBody is described as bytes of any media type, in responses and in requests', () => {
  const download = successOf('download');
  expect(download.content).toEqual(BYTES);
  expect(Object.keys(download.headers)).toEqual(['X-Request-Id', 'Cache-Control', 'X-Content-Type-Options']);
  const document = describeContract({ descriptorSet: feedDescriptorSet });
  expect(operationOf(document, 'upload').requestBody).toEqual({ required: false, content: BYTES });
  expect(operationOf(document, 'turn').requestBody).toEqual({ required: false, content: BYTES });
});

it('google.api.HttpBody is no body of GET, which has none in OpenAPI, where a rule is for any HTTP method', () => {
  const rules = [{ selector: 'feed.v1.Feed.Turn', custom: { kind: '*', path: '/v1/turns' }, body: '*' }];
  const { paths } = describeContract({ descriptorSet: feedDescriptorSet, rules });
  expect(paths['/v1/turns']?.get).not.toHaveProperty('requestBody');
  expect(paths['/v1/turns']?.get?.responses).not.toHaveProperty('413');
  expect(paths['/v1/turns']?.post).toHaveProperty('requestBody');
});

it('a stream of google.api.HttpBody is described as bytes with the headers of a stream', () => {
  const { content, headers } = successOf('downloadAll');
  expect(content).toEqual(BYTES);
  expect(headers).toMatchObject({ 'X-Accel-Buffering': {}, 'X-Content-Type-Options': {} });
});
