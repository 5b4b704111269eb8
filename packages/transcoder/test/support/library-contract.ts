import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import {
  create,
  createFileRegistry,
  fromBinary,
  type DescMessage,
  type DescMethod,
  type MessageInitShape,
  setExtension,
  toBinary,
} from '@bufbuild/protobuf';
import { FileDescriptorSetSchema, MethodOptionsSchema } from '@bufbuild/protobuf/wkt';
import { http } from '../../src/gen/google/api/annotations_pb.js';
import { HttpRuleSchema } from '../../src/gen/google/api/http_pb.js';

const require = createRequire(import.meta.url);
const contract = resolve(import.meta.dirname, '../contract');
/** The root of buf's paths: a folder above both the contract and the published files. */
const root = resolve(import.meta.dirname, '../../../..');
const published = relative(root, dirname(require.resolve('google-proto-files/package.json')));
// The parts of google/api and google/rpc that import files from other folders.
const beside = [
  'api/apikeys',
  'api/expr',
  'api/servicecontrol',
  'api/servicemanagement',
  'api/serviceusage',
  'rpc/context',
];
const workspace = {
  version: 'v2',
  modules: [
    { path: relative(root, contract) },
    {
      path: published,
      includes: [`${published}/google/api`, `${published}/google/rpc`],
      excludes: beside.map((folder) => `${published}/google/${folder}`),
    },
  ],
};
const errorDetails = ['ErrorInfo', 'BadRequest', 'RequestInfo'].map((name) => `google.rpc.${name}`);
const types = ['library.v1', 'google.api.HttpBody', 'google.rpc.Status', ...errorDetails];

/** Builds the contracts of the tests with `buf build`, with all their imports. */
function build(...filters: string[]): Uint8Array {
  const buf = join(dirname(require.resolve('@bufbuild/buf/package.json')), 'bin/buf');
  const args = ['build', '.', '--config', JSON.stringify(workspace), ...filters, '-o', '-'];
  return execFileSync(buf, args, { cwd: root, maxBuffer: 1 << 24 });
}

/** The contract of a library with all its imports: a serialized google.protobuf.FileDescriptorSet. */
export const libraryDescriptorSet = build(...types.flatMap((type) => ['--type', type]));

/** The image of a contract that imports the library's contract. */
export function branchImage(...filters: string[]): Uint8Array {
  return build('--path', relative(root, join(contract, 'branch')), ...filters);
}

/** The contract for the comparison with grpc-gateway: a serialized google.protobuf.FileDescriptorSet. */
export const comparedDescriptorSet = build('--type', 'compared.v1', '--type', 'google.rpc.ErrorInfo');

/** A contract with streams and files: a serialized google.protobuf.FileDescriptorSet. */
export const feedDescriptorSet = build('--type', 'feed.v1', '--type', 'google.rpc.ErrorInfo');

/** A contract of two files, with methods that have no HTTP rule: a serialized google.protobuf.FileDescriptorSet. */
export const greeterDescriptorSet = build('--type', 'greeter.v1');

/** The image of a contract with comments and with many kinds of fields and paths. */
export const shopImage = build('--path', relative(root, join(contract, 'shop')));

/** A contract in proto2: a serialized google.protobuf.FileDescriptorSet. */
export const legacyDescriptorSet = build('--type', 'legacy.v1');

export const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, libraryDescriptorSet));

/** A message of the contract by its full name. */
export function typeOf(typeName: string): DescMessage {
  const message = registry.getMessage(typeName);
  if (message === undefined) throw new Error(`The contract has no message ${typeName}.`);
  return message;
}

/** A message of the library by its simple name. */
export function messageType(name: string): DescMessage {
  return typeOf(`library.v1.${name}`);
}

/** The first item. Throws if there is none. */
export function firstOf<T>(things: readonly T[]): T {
  const [first] = things;
  if (first === undefined) throw new Error('There is none.');
  return first;
}

/** A method of the library: `Probe.Echo`. */
export function methodOf(name: string): DescMethod {
  const [service, method] = name.split('.');
  const found = registry
    .getService(`library.v1.${service ?? ''}`)
    ?.methods.find((each) => each.name === method);
  if (found === undefined) throw new Error(`The library has no method ${name}.`);
  return found;
}

/** The library with an HTTP rule for a method of its service Unsupported. */
export function withRule(name: string, rule: MessageInitShape<typeof HttpRuleSchema>): Uint8Array {
  const set = fromBinary(FileDescriptorSetSchema, libraryDescriptorSet);
  const services = set.file.flatMap(({ service }) => service);
  const unsupported = firstOf(services.filter((service) => service.name === 'Unsupported'));
  const method = firstOf(unsupported.method.filter((each) => each.name === name));
  method.options ??= create(MethodOptionsSchema);
  setExtension(method.options, http, create(HttpRuleSchema, rule));
  return toBinary(FileDescriptorSetSchema, set);
}
