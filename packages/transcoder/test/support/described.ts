import {
  describe as describeContract,
  type DescriptionOptions,
  type OpenApi,
  type Operation,
  type Schema,
} from '../../src/openapi.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { libraryDescriptorSet, shopImage } from './library-contract.js';

/** The description of the shop. */
export function shop(options: Partial<DescriptionOptions> = {}): OpenApi {
  return describeContract({ descriptorSet: shopImage, ...options });
}

/** The description of the library. */
export function library(options: Partial<DescriptionOptions> = {}): OpenApi {
  return describeContract({ descriptorSet: libraryDescriptorSet, ...options });
}

/** An operation by its id, under any path. */
export function operationOf({ paths }: OpenApi, operationId: string): Operation {
  const all = Object.values(paths).flatMap((byVerb) => Object.values(byVerb));
  const found = all.find((operation) => operation.operationId === operationId);
  if (found === undefined) throw new Error(`There is no operation ${operationId}.`);
  return found;
}

/** The schema of a component. */
export function schemaOf({ components }: OpenApi, name: string): Schema {
  const schema = components.schemas[name];
  if (schema === undefined) throw new Error(`There is no schema ${name}.`);
  return schema;
}

/** The schema of a property of a component. */
export function propertyOf(document: OpenApi, name: string, property: string): Schema | undefined {
  const properties = schemaOf(document, name)['properties'] as Record<string, Schema | undefined>;
  return properties[property];
}

/** A validator for each document, which compiles a schema once. */
const VALIDATORS = new WeakMap<OpenApi, Ajv2020>();

/** Whether a value is valid against a schema of the document. */
export function fulfils(document: OpenApi, schema: Schema, value: unknown): boolean {
  const known = VALIDATORS.get(document);
  const ajv = known ?? new Ajv2020({ strict: false, validateFormats: false, ownProperties: true });
  if (known === undefined) ajv.addSchema({ ...document }, 'document');
  VALIDATORS.set(document, ajv);
  const absolute = JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#', '"$ref":"document#')) as object;
  return ajv.validate(absolute, value);
}
