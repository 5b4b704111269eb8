import { fromBinary } from '@bufbuild/protobuf';
import {
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  type FileDescriptorSet,
} from '@bufbuild/protobuf/wkt';
import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { descriptorSet } from '../../src/gen/descriptor-set.js';
import { type ReflectionAnswer, reflectionOf } from '../support/reflection-client.js';
import { startTestServer } from '../support/test-grpc-server.js';

const CONTRACT = 'routing/v1/route_service.proto';
const VERSIONS = ['v1', 'v1alpha'];

/** Asks a server for tests. */
async function ask(version: string, ...requests: object[]): Promise<ReflectionAnswer[]> {
  return reflectionOf((await startTestServer()).address, version, ...requests);
}

function filesOf(answer: ReflectionAnswer | undefined): FileDescriptorSet['file'] {
  return (answer?.file_descriptor_response?.file_descriptor_proto ?? []).map((bytes) =>
    fromBinary(FileDescriptorProtoSchema, bytes),
  );
}

describe.each(VERSIONS)('reflection %s', (version) => {
  it('lists the services, itself among them', async () => {
    const [answer] = await ask(version, { list_services: '*' });
    expect(answer).toEqual({
      original_request: { list_services: '*' },
      list_services_response: {
        service: [
          { name: 'grpc.health.v1.Health' },
          { name: 'grpc.reflection.v1.ServerReflection' },
          { name: 'grpc.reflection.v1alpha.ServerReflection' },
          { name: 'test.Service' },
        ],
      },
    });
  });

  const FOUND: [what: string, request: object, name: string][] = [
    ['a file by its name', { file_by_filename: CONTRACT }, CONTRACT],
    ['the file of a service', { file_containing_symbol: 'routing.v1.RouteService' }, CONTRACT],
    ['the file of a method', { file_containing_symbol: 'routing.v1.RouteService.GetRoute' }, CONTRACT],
    ['the file of a message', { file_containing_symbol: 'routing.v1.Route' }, CONTRACT],
    ['the file of a field', { file_containing_symbol: 'routing.v1.Route.created_at' }, CONTRACT],
    [
      'its own file',
      { file_containing_symbol: `grpc.reflection.${version}.ServerReflection` },
      `grpc/reflection/${version}/reflection.proto`,
    ],
    [
      'the file of a oneof',
      { file_containing_symbol: `grpc.reflection.${version}.ServerReflectionRequest.message_request` },
      `grpc/reflection/${version}/reflection.proto`,
    ],
    [
      'the file of an enum',
      { file_containing_symbol: 'google.api.FieldBehavior' },
      'google/api/field_behavior.proto',
    ],
    [
      'the file of an enum value',
      { file_containing_symbol: 'google.api.FieldBehavior.OUTPUT_ONLY' },
      'google/api/field_behavior.proto',
    ],
    [
      'the file of an extension',
      { file_containing_symbol: 'google.api.http' },
      'google/api/annotations.proto',
    ],
    [
      'the file of an extension by its number',
      {
        file_containing_extension: {
          containing_type: 'google.protobuf.MethodOptions',
          extension_number: 72295728,
        },
      },
      'google/api/annotations.proto',
    ],
  ];

  it('finds a file by its name and by all that is in it, and returns it first', async () => {
    const answers = await ask(version, ...FOUND.map(([, request]) => request));
    const found = FOUND.map(([what], index) => [what, filesOf(answers[index])[0]?.name]);
    expect(found).toEqual(FOUND.map(([what, , name]) => [what, name]));
  });

  it('sends a file with each of its dependencies once', async () => {
    const [answer] = await ask(version, { file_by_filename: CONTRACT });
    const names = filesOf(answer).map(({ name }) => name);
    expect(new Set(names)).toEqual(
      new Set([
        CONTRACT,
        'google/api/annotations.proto',
        'google/api/http.proto',
        'google/api/field_behavior.proto',
        'google/protobuf/descriptor.proto',
        'google/protobuf/timestamp.proto',
      ]),
    );
    expect(names).toHaveLength(6);
  });

  it('lists the extension numbers of a type', async () => {
    const [answer] = await ask(version, { all_extension_numbers_of_type: 'google.protobuf.FieldOptions' });
    expect(answer).toMatchObject({
      all_extension_numbers_response: {
        base_type_name: 'google.protobuf.FieldOptions',
        extension_number: [1052],
      },
    });
  });

  const LACKING: [what: string, request: object][] = [
    ['an unknown file', { file_by_filename: 'nowhere.proto' }],
    ['an unknown symbol', { file_containing_symbol: 'routing.v1.Nothing' }],
    ['an unknown member', { file_containing_symbol: 'routing.v1.Route.nothing' }],
    ['a member of an extension', { file_containing_symbol: 'google.api.http.nothing' }],
    ['an empty symbol', { file_containing_symbol: '' }],
    [
      'an unknown extension',
      { file_containing_extension: { containing_type: 'routing.v1.Route', extension_number: 1 } },
    ],
    ['extensions of an unknown type', { all_extension_numbers_of_type: 'routing.v1.Nothing' }],
  ];

  it('reports NOT_FOUND for what it lacks, refuses a request without a query, and continues', async () => {
    const requests = [
      ...LACKING.map(([, request]) => request),
      { host: 'x' },
      { file_by_filename: CONTRACT },
    ];
    const answers = await ask(version, ...requests);
    expect(filesOf(answers.pop())).not.toEqual([]);
    expect(answers.pop()?.error_response?.error_code).toBe(status.INVALID_ARGUMENT);
    const error_response = {
      error_code: status.NOT_FOUND,
      error_message: expect.stringMatching(/^There is no .*\.$/) as string,
    };
    expect(answers).toMatchObject(LACKING.map(() => ({ error_response })));
  });
});

it('every file that reflection returns equals the compiled one', async () => {
  const files = fromBinary(FileDescriptorSetSchema, descriptorSet).file;
  const answers = await ask('v1', ...files.map(({ name }) => ({ file_by_filename: name })));
  expect(answers.map((answer) => filesOf(answer)[0])).toEqual(files);
});
