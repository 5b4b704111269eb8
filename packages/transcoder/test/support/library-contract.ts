import { readFileSync } from 'node:fs';
import { join } from 'node:path';
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
import { fetchSupply } from '../../../../test/support/supply.js';
import { http } from '../../src/gen/google/api/annotations_pb.js';
import { HttpRuleSchema } from '../../src/gen/google/api/http_pb.js';

const folder = (await fetchSupply('contracts')) as string;

/** A contract that `contracts.ts` has built: a serialized google.protobuf.FileDescriptorSet. */
const built = (name: string): Uint8Array => readFileSync(join(folder, `${name}.binpb`));

/** The contract of a library. */
export const libraryDescriptorSet = built('library');

/** A contract that imports the library's contract: as buf's image, and with its imports not marked. */
export const branchImage = built('branch');
export const unmarkedBranch = built('branch-unmarked');

/** The contract for the comparison with grpc-gateway. */
export const comparedDescriptorSet = built('compared');

/** A contract with streams and files. */
export const feedDescriptorSet = built('feed');

/** A contract of two files, with methods that have no HTTP rule. */
export const greeterDescriptorSet = built('greeter');

/** The image of a contract with comments and with many kinds of fields and paths. */
export const shopImage = built('shop');

/** A contract in proto2. */
export const legacyDescriptorSet = built('legacy');

/** A contract whose fields have JSON names that are proto names of others. */
export const namesDescriptorSet = built('names');

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
    ?.methods.find((candidate) => candidate.name === method);
  if (found === undefined) throw new Error(`The library has no method ${name}.`);
  return found;
}

/** The library with an HTTP rule for a method of its service Unsupported. */
export function withRule(name: string, rule: MessageInitShape<typeof HttpRuleSchema>): Uint8Array {
  const set = fromBinary(FileDescriptorSetSchema, libraryDescriptorSet);
  const services = set.file.flatMap(({ service }) => service);
  const unsupported = firstOf(services.filter((service) => service.name === 'Unsupported'));
  const method = firstOf(unsupported.method.filter((candidate) => candidate.name === name));
  method.options ??= create(MethodOptionsSchema);
  setExtension(method.options, http, create(HttpRuleSchema, rule));
  return toBinary(FileDescriptorSetSchema, set);
}
